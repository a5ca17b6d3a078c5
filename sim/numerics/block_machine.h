// BlockMachine holds the on-chip tiles of one block and executes its operations one by one, in listing order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/page_table.h"
#include "sim/numerics/forward_results.h"
#include "sim/numerics/hbm_image.h"
#include "sim/numerics/inputs.h"
#include "sim/numerics/tile_arithmetic.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// One buffer of an on-chip tile, and the operation that filled it.
struct Buffer {
  std::shared_ptr<Matrix> values;
  std::int32_t writer = -1;
};

/// Every on-chip tile's ring of buffers. The current buffer of an on-chip tile is the one last written or read.
struct ChipTileFile {
  std::array<std::vector<Buffer>, most_chip_tiles> rings;
  std::array<std::int32_t, most_chip_tiles> current{};

  Buffer& buffer(ChipTile chip_tile, std::int32_t ring);
  /// Returns the buffer of `chip_tile` that an operation uses.
  std::int32_t choose(ChipTile chip_tile, const Operation& op) const;
  MatrixPtr value(ChipTile chip_tile) const;
};

struct BufferName {
  ChipTile chip_tile = ChipTile::none;
  std::int32_t ring = 0;
  bool operator==(const BufferName&) const = default;
};

/// The effect of an operation on the on-chip tiles.
struct Effect {
  std::vector<BufferName> read;   // includes dst if the operation updates it
  BufferName written;             // ChipTile::none if nothing was written
  std::vector<ChipTile> changed;  // on-chip tiles with a new current value
};

class BlockMachine {
 public:
  BlockMachine(const TileProgram& program, const InputSource& inputs);

  ChipTileFile& chip_tiles() { return chip_tiles_; }
  const AttentionProblem& problem() const { return problem_; }
  bool is_input(Tensor tensor) const { return (inputs_mask_ >> tensor.index() & 1U) != 0; }
  /// Returns a tile of an input tensor.
  MatrixPtr input(const TileRef& tile);
  /// Returns what the block loads as a tile of an input tensor: K and V in pages lie where the entries of the page table say that
  /// it loaded. Returns nullptr if it has not loaded the entry.
  MatrixPtr load(const TileRef& tile);

  /// Executes operation `index`. `loaded` holds the values of a load. Returns a sentence if the program is faulty, otherwise "".
  Sentence execute(const Operation& operation, std::int32_t index, const MatrixPtr& loaded, Effect& effect);
  /// Returns the values that a store writes to HBM, rounded; nullptr if its on-chip tile holds nothing.
  MatrixPtr stored(const Operation& operation) const;

 private:
  /// Returns a tile of K or V that lies in one page.
  MatrixPtr load_part(const TileRef& tile);

  AttentionProblem problem_;
  TileShape tile_;
  std::uint64_t inputs_mask_ = 0;
  InputSource inputs_;
  std::shared_ptr<const TableValues> tables_;  // null if the program has none
  std::shared_ptr<const PageTable> pages_;     // null if K and V have none
  MatrixPtr entries_;                          // of the page table, as loaded
  std::int32_t first_entry_ = 0;
  ForwardResults forward_;
  TileArithmetic arithmetic_;
  ChipTileFile chip_tiles_;
  // A cache: every query tile loads the same K and V tiles. It is emptied when it grows too large.
  std::map<std::tuple<Tensor, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>, MatrixPtr> made_;
  std::size_t made_bytes_ = 0;
};

inline std::size_t bytes_of(const Matrix& m) {
  return m.values.size() * sizeof(float);
}

}  // namespace tilescope
