// The block lists of a mask, as the programs flex, hopper_flex and flex_backward load and follow them; and the page
// table of the first two.
//
//   A list is a count, in a sector of its own, and four bytes a block. Partial blocks come first, then full ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/page_table.h"
#include "sim/masks/block_mask.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/block_plan.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/tensor_indices.h"
#include "sim/programs/tile_grid.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

namespace lists {

/// PyTorch's BlockMask; int32, which has the size of fp32. `rows`: the axis whose blocks have a list each.
constexpr TensorSpec declare(std::string_view name, std::uint8_t index, Axis rows, Axis cols) {
  return {.name = name,
          .meaning = Meaning::table,
          .index = index,
          .planes = Planes::mask,
          .rows = rows,
          .cols = cols,
          .type = DataType::fp32};
}
inline constexpr TensorSpec partial_count_spec =
    declare("kv_num_blocks", tensor_index::kv_num_blocks, Axis::query_block, Axis::one);
inline constexpr TensorSpec partial_spec = declare("kv_indices", tensor_index::kv_indices, Axis::query_block, Axis::key_block);
inline constexpr TensorSpec full_count_spec =
    declare("full_kv_num_blocks", tensor_index::full_kv_num_blocks, Axis::query_block, Axis::one);
inline constexpr TensorSpec full_spec =
    declare("full_kv_indices", tensor_index::full_kv_indices, Axis::query_block, Axis::key_block);
inline constexpr Tensor partial_count = partial_count_spec, partial = partial_spec, full_count = full_count_spec, full = full_spec;

inline constexpr ChipTileSpec partial_count_tile_spec{
    .name = "#p", .tensor = partial_count_spec, .index = tile_index::kv_num_blocks};
inline constexpr ChipTileSpec partial_tile_spec{.name = "Jp", .tensor = partial_spec, .index = tile_index::kv_indices};
inline constexpr ChipTileSpec full_count_tile_spec{
    .name = "#f", .tensor = full_count_spec, .index = tile_index::full_kv_num_blocks};
inline constexpr ChipTileSpec full_tile_spec{.name = "Jf", .tensor = full_spec, .index = tile_index::full_kv_indices};
inline constexpr ChipTile partial_count_tile = partial_count_tile_spec, partial_tile = partial_tile_spec;
inline constexpr ChipTile full_count_tile = full_count_tile_spec, full_tile = full_tile_spec;

/// The same lists by column, which a backward pass follows: the query blocks that see a key block.
inline constexpr TensorSpec query_partial_count_spec =
    declare("q_num_blocks", tensor_index::q_num_blocks, Axis::key_block, Axis::one);
inline constexpr TensorSpec query_partial_spec = declare("q_indices", tensor_index::q_indices, Axis::key_block, Axis::query_block);
inline constexpr TensorSpec query_full_count_spec =
    declare("full_q_num_blocks", tensor_index::full_q_num_blocks, Axis::key_block, Axis::one);
inline constexpr TensorSpec query_full_spec =
    declare("full_q_indices", tensor_index::full_q_indices, Axis::key_block, Axis::query_block);
inline constexpr Tensor query_partial_count = query_partial_count_spec, query_partial = query_partial_spec;
inline constexpr Tensor query_full_count = query_full_count_spec, query_full = query_full_spec;

inline constexpr ChipTileSpec query_partial_count_tile_spec{
    .name = "#Ip", .tensor = query_partial_count_spec, .index = tile_index::q_num_blocks};
inline constexpr ChipTileSpec query_partial_tile_spec{.name = "Ip", .tensor = query_partial_spec, .index = tile_index::q_indices};
inline constexpr ChipTileSpec query_full_count_tile_spec{
    .name = "#If", .tensor = query_full_count_spec, .index = tile_index::full_q_num_blocks};
inline constexpr ChipTileSpec query_full_tile_spec{.name = "If", .tensor = query_full_spec, .index = tile_index::full_q_indices};
inline constexpr ChipTile query_partial_count_tile = query_partial_count_tile_spec, query_partial_tile = query_partial_tile_spec;
inline constexpr ChipTile query_full_count_tile = query_full_count_tile_spec, query_full_tile = query_full_tile_spec;

}  // namespace lists

namespace paged {

/// A row of page numbers for each sequence; int32, which has the size of fp32.
inline constexpr TensorSpec table_spec{.name = "page_table",
                                       .meaning = Meaning::table,
                                       .index = tensor_index::page_table,
                                       .planes = Planes::sequence,
                                       .rows = Axis::one,
                                       .cols = Axis::key_page,
                                       .type = DataType::fp32};
inline constexpr Tensor table = table_spec;
inline constexpr ChipTileSpec entries_spec{.name = "pages", .tensor = table_spec, .index = tile_index::pages};
inline constexpr ChipTile entries = entries_spec;

}  // namespace paged

enum class ListsBy : std::uint8_t { row, both };
/// Adds the lists' tensors and tiles to the schema of a program, by row or by row and by column.
void add_lists(Schema& schema, ListsBy by = ListsBy::row);

/// Adds the page table to the schema of a program.
void add_page_table(Schema& schema);
/// Returns the pages of a sequence from the first visited key tile to the last. Needs a visit.
TileRange pages_of_visits(const BlockPlan& plan, std::span<const KeyTile> visits);

/// The values of a page table as a kernel reads them, and those of `others`, which may be null.
std::shared_ptr<const TableValues> page_values(std::shared_ptr<const PageTable> pages, std::shared_ptr<const TableValues> others);

/// The blocks that a mask leaves.
class FlexLists {
 public:
  FlexLists(const TileGrid& grid, const ProgramTile& tile, ListsBy by = ListsBy::row);

  /// The lists of a tile: their plane and row of blocks, and the blocks.
  struct OfTile {
    std::int64_t plane = 0, row = 0;
    std::span<const std::int32_t> partial, full;
  };
  /// Returns the lists of query tile `i` of a plane.
  OfTile of(const TileGrid& grid, std::int64_t plane, std::int64_t i) const;
  /// Returns the lists of key tile `j` for the queries of a query plane. Needs ListsBy::both.
  OfTile of_keys(const TileGrid& grid, std::int64_t plane, std::int64_t j) const;
  /// Returns the key tiles of the listed blocks, whether or not a tile inside a partial block is itself empty.
  std::vector<KeyTile> visits(const TileGrid& grid, const OfTile& own) const;
  /// Returns the query tiles of the listed blocks of a key tile.
  std::vector<KeyTile> query_visits(const TileGrid& grid, const OfTile& own) const;
  /// Returns whether later query tiles visit more, so that the last one of a plane comes first, as with BlockOrder::reversed.
  bool is_reversed() const { return later_rows_see_more(*mask_); }
  std::shared_ptr<const TableValues> values() const;

 private:
  std::shared_ptr<const BlockMask> mask_;
  std::shared_ptr<const BlockMask> transposed_;  // rows are key blocks; null unless asked for
};

/// The lines and tiles of the lists that a kind of block loads.
struct ListLoads {
  LineId counts, lists;
  ChipTile partial_count, partial, full_count, full;
};
/// Loads the two lengths of a tile's lists, then the lists that are not empty. Returns the last load: what the first tile's address
/// waits for.
std::int32_t load_lists(BlockBuilder& b, const ListLoads& loads, const FlexLists::OfTile& own);

/// The key tiles that a query tile visits, and the last load of its lists; -1: it has none.
struct ListedVisits {
  std::vector<KeyTile> visits;
  std::int32_t listed = -1;
};
/// The lines that load lists: their lengths, then their entries.
struct ListLines {
  LineId counts, entries;
};
/// Loads the lists of query tile `i` of a plane. Without `lists` it visits what the grid's mask leaves.
ListedVisits load_visits(BlockBuilder& b, const ListLines& lines, const std::optional<FlexLists>& lists, const TileGrid& grid,
                         std::int64_t plane, std::int64_t i);

/// What the blocks of a launch move and compute, worked out from the mask, tile by tile, and not from its lists. Sums over all
/// planes.
struct FlexSums {
  std::int64_t rows = 0, box_rows = 0;  // of query tiles that see a key; in whole boxes
  std::int64_t keys = 0;                // of the listed blocks, for each query tile, in whole boxes
  std::int64_t rows_keys = 0, rows_tiles = 0;
  std::int64_t partial_bytes = 0, full_bytes = 0, count_bytes = 0;  // of lists; count_bytes: of either count
  std::int64_t page_bytes = 0;                                      // of page tables: from the first listed block to the last
  std::int64_t pair_statistic_bytes = 0, own_statistic_bytes = 0;   // one fp32 number a row, in sectors: once for each listed key
                                                                    // tile, and once for each query tile that sees a key
};
/// `query_box` and `key_box`: rows of a box; 1 where rows are copied one by one.
FlexSums flex_sums(const AttentionProblem& problem, const TileShape& tile, const Mask& mask, std::int64_t query_box,
                   std::int64_t key_box);
/// Appends the term of the page table.
void add_page_term(ClosedForm& form, const AttentionProblem& problem, const FlexSums& sums);
/// Appends the terms of the lists.
void add_list_terms(ClosedForm& form, const FlexSums& sums);

/// What the blocks that own keys move, worked out in the same way: one for each key tile, which reads the lists of every query head
/// of its group.
struct FlexKeySums {
  std::int64_t seen_keys = 0;  // of key tiles that some query of the group sees
  std::int64_t partial_bytes = 0, full_bytes = 0, count_bytes = 0;
};
FlexKeySums flex_key_sums(const AttentionProblem& problem, const TileShape& tile, const Mask& mask);
void add_list_terms(ClosedForm& form, const FlexKeySums& sums);

/// Checks a mask block against the tile.
/// Errors  a tile that cannot be; a block that the tile does not divide
Status check_mask_block(const AttentionProblem& problem, const ProgramTile& tile);

}  // namespace tilescope
