// BlockMachine: the on-chip tiles of one block and the execution of its operations, one at a time, in listing order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/numerics/hbm_image.h"
#include "sim/numerics/inputs.h"
#include "sim/numerics/tile_arithmetic.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// One buffer of a slot, and which operation filled it.
struct Buffer {
  std::shared_ptr<Matrix> values;
  std::int32_t writer = -1;
};

/// Every slot's ring of buffers, and the one of them that stands for the slot: the last that was written or read.
struct SlotFile {
  std::array<std::vector<Buffer>, most_slots> rings;
  std::array<std::int32_t, most_slots> current{};

  Buffer& buffer(Slot slot, std::int32_t ring);
  /// The buffer of `slot` that an operation naming ring buffer `ring` works on.
  std::int32_t choose(Slot slot, std::int32_t ring) const;
  MatrixPtr value(Slot slot) const;
};

struct BufferName {
  Slot slot = Slot::none;
  std::int32_t ring = 0;
  bool operator==(const BufferName&) const = default;
};

/// What an operation did to the slots.
struct Effect {
  std::vector<BufferName> read;  // includes dst where it is updated
  BufferName written;            // Slot::none where nothing was
  std::vector<Slot> changed;     // slots that stand for another value now
};

class BlockMachine {
 public:
  BlockMachine(const TileProgram& program, const InputSource& inputs);

  SlotFile& slots() { return slots_; }
  const AttentionProblem& problem() const { return problem_; }
  bool is_input(Tensor tensor) const { return (inputs_mask_ >> tensor.index() & 1U) != 0; }
  /// A tile of a tensor that the program is given.
  MatrixPtr input(const TileRef& tile);

  /// Executes operation `index`. `loaded` is what a load brings. An empty sentence, or what is wrong with the program.
  std::string execute(const Operation& operation, std::int32_t index, const MatrixPtr& loaded, Effect& effect);
  /// The bits that a store leaves in HBM; nullptr where its slot holds nothing.
  MatrixPtr stored(const Operation& operation) const;

 private:
  AttentionProblem problem_;
  TileShape tile_;
  std::uint32_t inputs_mask_ = 0;
  InputSource inputs_;
  std::shared_ptr<const TableValues> tables_;  // null: the program has none
  TileArithmetic arithmetic_;
  SlotFile slots_;
  // The same K and V tiles are asked for by every query tile; dropped as a whole when there are too many.
  std::map<std::tuple<Tensor, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>, MatrixPtr> made_;
  std::size_t made_bytes_ = 0;
};

inline std::size_t bytes_of(const Matrix& m) {
  return m.values.size() * sizeof(float);
}

}  // namespace tilescope
