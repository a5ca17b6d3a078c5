// The block lists of a mask, as the programs flex and hopper_flex load and follow them.
//
//   A list is a count, in a sector of its own, and four bytes a block. Partial blocks come first, then full ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/masks/block_mask.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/tile_grid.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

namespace lists {

/// PyTorch's BlockMask; int32, which has the size of fp32.
constexpr TensorSpec declare(std::string_view name, std::uint8_t index, Axis cols) {
  return {.name = name,
          .meaning = Meaning::table,
          .index = index,
          .planes = Planes::mask,
          .rows = Axis::query_block,
          .cols = cols,
          .type = DataType::fp32};
}
inline constexpr TensorSpec partial_count_spec = declare("kv_num_blocks", 9, Axis::one);
inline constexpr TensorSpec partial_spec = declare("kv_indices", 10, Axis::key_block);
inline constexpr TensorSpec full_count_spec = declare("full_kv_num_blocks", 11, Axis::one);
inline constexpr TensorSpec full_spec = declare("full_kv_indices", 12, Axis::key_block);
inline constexpr Tensor partial_count = partial_count_spec, partial = partial_spec, full_count = full_count_spec, full = full_spec;

inline constexpr TileSpec partial_count_tile_spec{.name = "#p", .tensor = partial_count_spec, .index = 17};
inline constexpr TileSpec partial_tile_spec{.name = "Jp", .tensor = partial_spec, .index = 18};
inline constexpr TileSpec full_count_tile_spec{.name = "#f", .tensor = full_count_spec, .index = 19};
inline constexpr TileSpec full_tile_spec{.name = "Jf", .tensor = full_spec, .index = 20};
inline constexpr Slot partial_count_tile = partial_count_tile_spec, partial_tile = partial_tile_spec;
inline constexpr Slot full_count_tile = full_count_tile_spec, full_tile = full_tile_spec;

}  // namespace lists

/// Adds the lists' tensors and tiles to the schema of a program.
void add_lists(Schema& schema);

/// The blocks that a mask leaves.
class FlexLists {
 public:
  FlexLists(const TileGrid& grid, const ProgramTile& tile);

  /// The lists of a query tile: their plane and row of blocks, and the blocks.
  struct OfTile {
    std::int64_t plane = 0, row = 0;
    std::span<const std::int32_t> partial, full;
  };
  OfTile of(const TileGrid& grid, std::int64_t plane, std::int64_t i) const;
  /// Returns the key tiles of the listed blocks, whether or not a tile inside a partial block is itself empty.
  std::vector<KeyTile> visits(const TileGrid& grid, const OfTile& own) const;
  /// Returns whether later query tiles visit more, so that the last one comes first.
  bool last_rows_first() const { return later_rows_see_more(*mask_); }
  std::shared_ptr<const TableValues> values() const;

 private:
  std::shared_ptr<const BlockMask> mask_;
};

/// What the blocks of a launch move and compute, worked out from the mask, tile by tile, and not from its lists. Sums over all
/// planes.
struct FlexSums {
  std::int64_t rows = 0, box_rows = 0;  // of query tiles that see a key; in whole boxes
  std::int64_t keys = 0;                // of the listed blocks, for each query tile, in whole boxes
  std::int64_t rows_keys = 0, rows_tiles = 0;
  std::int64_t partial_bytes = 0, full_bytes = 0, count_bytes = 0;  // of lists; count_bytes: of either count
};
/// `query_box` and `key_box`: rows of a box; 1 where rows are copied one by one.
FlexSums flex_sums(const AttentionProblem& problem, const TileShape& tile, const Mask& mask, std::int64_t query_box,
                   std::int64_t key_box);
/// Appends the terms of the lists.
void add_list_terms(ClosedForm& form, const FlexSums& sums);

/// Checks a mask block against the tile.
/// Errors  a block that the tile does not divide
Status check_mask_block(const AttentionProblem& problem, const ProgramTile& tile);

}  // namespace tilescope
