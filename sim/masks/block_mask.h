// BlockMask: the tiles of a mask as lists, one of partial and one of full tiles for each query tile: what a kernel walks.
//
//   kv_num_blocks[b, h, row]       full_kv_num_blocks[b, h, row]        how many
//   kv_indices[b, h, row, 0…]      full_kv_indices[b, h, row, 0…]       which key tiles, ascending
//
// The layout is that of PyTorch's BlockMask. b and h have length 1 where every batch element, or every head, sees the same keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/mask.h"

namespace tilescope {

/// Lists of tiles, one a row: `indices` of row r of plane p lie at offsets[p * rows + r].
struct BlockLists {
  std::int64_t rows = 0;
  std::vector<std::int64_t> offsets;  // planes x rows + 1
  std::vector<std::int32_t> indices;

  std::span<const std::int32_t> row(std::int64_t plane, std::int64_t r) const {
    const auto at = static_cast<std::size_t>(plane * rows + r);
    const auto first = static_cast<std::size_t>(offsets[at]), end = static_cast<std::size_t>(offsets[at + 1]);
    return {indices.data() + first, end - first};
  }
};

/// Returns the same lists by column: which query tiles see a key tile. A backward pass walks these (PyTorch's q_num_blocks,
/// q_indices).
BlockLists transposed(const BlockLists& lists, std::int64_t cols);

/// PyTorch's arrays of one kind of tile: counts [planes, rows], and indices [planes, rows, cols], zero where a list has ended.
struct BlockArrays {
  std::vector<std::int32_t> counts, indices;
};
BlockArrays arrays_of(const BlockLists& lists, std::int64_t cols);

struct BlockMask {
  TileShape block;
  std::int64_t heads = 1;                       // of the problem
  std::int64_t mask_batch = 1, mask_heads = 1;  // of the lists: 1 where all are alike
  std::int64_t rows = 0, cols = 0;
  BlockLists partial, full;
  // Over all B x H planes:
  std::int64_t empty_blocks = 0, partial_blocks = 0, full_blocks = 0;
  std::int64_t by_analysis = 0, by_evaluation = 0;  // blocks, by what decided them

  /// Returns whether no query sees a key. Every row of O is then 0.
  bool shows_nothing() const { return partial_blocks + full_blocks == 0; }

  /// Returns the plane of the lists that query plane `plane` reads.
  std::int64_t list_plane(std::int64_t plane) const {
    return (mask_batch > 1 ? plane / heads * mask_heads : 0) + (mask_heads > 1 ? plane % heads : 0);
  }
};

/// Returns the lists of a problem's mask at this block size.
BlockMask block_mask_of(const Mask& mask, const AttentionProblem& problem, const TileShape& block);

/// Returns whether later rows of the lists name more blocks than earlier ones, on the whole. A launch then takes the last query
/// tiles first, so that it does not end with its longest blocks.
bool later_rows_see_more(const BlockMask& mask);

/// Visible elements over all planes: the sum over full blocks, and elements of partial ones.
std::int64_t visible_elements(const Mask& mask, const BlockMask& blocks, const AttentionProblem& problem);

}  // namespace tilescope
