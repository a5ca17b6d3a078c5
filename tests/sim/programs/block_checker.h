// BlockChecker: walks the operations of a block and says the first thing that is wrong with them; counts what they move and make.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/mask.h"
#include "sim/core/page_table.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Counts for every element of every tensor, which is why problems must be small.
class BlockChecker {
 public:
  /// `warp_tile`: that of the program's row.
  explicit BlockChecker(const TileProgram& program, std::int64_t warp_tile = 0);

  /// Empty, or what is wrong.
  std::string check_block(const BlockOperations& block);

  std::int64_t bytes(Tensor tensor, Link link) const { return bytes_[index(tensor)][static_cast<std::size_t>(link)]; }
  std::int64_t matmul_flops = 0, exps = 0, reduced_bytes = 0;
  std::set<int> lines;
  /// How often an element was stored, and added to; how often a score was made by a product.
  int stored(Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t col) const;
  int added(Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t col) const;
  int scored(std::int64_t plane, std::int64_t row, std::int64_t key) const;

 private:
  /// Returns how often the warps together read `chip_tile`, a factor of a product.
  std::int64_t times_read(const Operation& op, ChipTile chip_tile) const;
  /// Counts the sectors that a tile of K or V touches in each of its pages.
  std::int64_t count_sectors_of_pages(const TileRef& tile) const;
  struct Buffer {
    bool full = false;
    std::int32_t load = -1;     // what filled it, -1 when computed
    std::int32_t product = -1;  // the asynchronous product that computes it; -1: none
    std::int32_t last_use = -1;
    std::int32_t rows = 0, cols = 0;
    TileRef tile;
    bool masked = false;
  };
  static std::size_t index(Tensor tensor) { return tensor.index(); }

  std::int64_t element(Tensor tensor) const { return layouts_[index(tensor)].element_bytes; }
  std::string check_tokens(const Operation& op, std::int32_t self);
  std::string check_past_the_end(const Operation& op, std::int32_t self);
  std::string check_place(const Operation& op) const;
  std::string check_gather(const Operation& op) const;
  std::int64_t bytes_of_boxes(const Operation& op) const;
  std::string check_load(const Operation& op, std::int32_t self);
  std::string check_counter(const Operation& op);
  std::string check_store(const Operation& op);
  static bool holds_rows(const Buffer& buffer, const TileRef& tile);
  std::string check_compute(const Operation& op);
  std::string check_shapes(const Operation& op);
  std::string check_reads(const Operation& op, std::int32_t self);
  std::string check_scores(const Operation& op);
  /// Returns whether every query of a tile of S sees every key.
  bool sees_all(const TileRef& scores) const;
  Buffer& buffer(ChipTile chip_tile, const Operation& op);
  std::vector<ChipTile> reads(const Operation& op) const;
  std::int64_t cell(const TileRef& tile, std::int64_t row, std::int64_t col) const;

  const TileProgram& program_;
  const std::int64_t warp_tile_;
  std::shared_ptr<const Mask> mask_;
  std::array<TensorLayout, most_tensors> layouts_;
  TensorLayouts memory_;                    // as tensors lie in HBM
  std::shared_ptr<const PageTable> pages_;  // of K and V; null if they have none
  std::array<std::array<std::int64_t, link_count>, most_tensors> bytes_{};
  std::array<std::vector<int>, most_tensors> stores_, additions_;
  std::vector<int> scores_;
  std::map<std::pair<ChipTile, std::int32_t>, Buffer> buffers_;  // of the block being walked
  std::vector<std::int32_t> waits_;                              // of each of its operations: the one that it waits for
  std::vector<std::int32_t> signals_;                            // of each token so far
  std::vector<std::set<std::int32_t>> seen_;                     // by group: the operations that it has waited for
  const BlockOperations* block_ = nullptr;
};

/// Sectors of a tile, counted one by one.
std::int64_t count_sectors(const TensorLayout& layout, const TileRef& tile);

}  // namespace tilescope
