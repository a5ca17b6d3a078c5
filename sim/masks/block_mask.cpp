// Lists from boxes of tiles.
#include "sim/masks/block_mask.h"

#include <algorithm>
#include <numeric>

#include "sim/core/units.h"

namespace tilescope {

namespace {

/// Neighbouring tiles of a row.
struct Run {
  std::int32_t row, first, count;
};

/// Appends a plane's lists: runs come in any order of rows, and ascending within one.
void append_plane(BlockLists& lists, const std::vector<Run>& runs) {
  const auto rows = static_cast<std::size_t>(lists.rows);
  const std::size_t base = lists.offsets.size() - 1;
  lists.offsets.resize(lists.offsets.size() + rows, 0);
  for (const Run& run : runs) lists.offsets[base + 1 + static_cast<std::size_t>(run.row)] += run.count;
  for (std::size_t r = 0; r < rows; ++r) lists.offsets[base + r + 1] += lists.offsets[base + r];
  lists.indices.resize(static_cast<std::size_t>(lists.offsets.back()));
  std::vector<std::int64_t> next(lists.offsets.begin() + static_cast<std::ptrdiff_t>(base), lists.offsets.end() - 1);
  for (const Run& run : runs) {
    std::int64_t& at = next[static_cast<std::size_t>(run.row)];
    const auto begin = lists.indices.begin() + at;
    std::iota(begin, begin + run.count, run.first);
    at += run.count;
  }
}

}  // namespace

BlockLists transposed(const BlockLists& lists, std::int64_t cols) {
  const std::int64_t planes = (static_cast<std::int64_t>(lists.offsets.size()) - 1) / std::max<std::int64_t>(1, lists.rows);
  BlockLists by_column;
  by_column.rows = cols;
  by_column.offsets.assign(static_cast<std::size_t>(planes * cols + 1), 0);
  by_column.indices.resize(lists.indices.size());
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t r = 0; r < lists.rows; ++r)
      for (const std::int32_t c : lists.row(plane, r)) ++by_column.offsets[static_cast<std::size_t>(plane * cols + c + 1)];
  std::partial_sum(by_column.offsets.begin(), by_column.offsets.end(), by_column.offsets.begin());
  std::vector<std::int64_t> next(by_column.offsets.begin(), by_column.offsets.end() - 1);
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t r = 0; r < lists.rows; ++r)
      for (const std::int32_t c : lists.row(plane, r))
        by_column.indices[static_cast<std::size_t>(next[static_cast<std::size_t>(plane * cols + c)]++)] =
            static_cast<std::int32_t>(r);
  return by_column;
}

BlockArrays arrays_of(const BlockLists& lists, std::int64_t cols) {
  BlockArrays arrays;
  const std::size_t all_rows = lists.offsets.size() - 1;
  arrays.counts.resize(all_rows);
  arrays.indices.assign(all_rows * static_cast<std::size_t>(cols), 0);
  for (std::size_t r = 0; r < all_rows; ++r) {
    const auto first = lists.indices.begin() + lists.offsets[r], end = lists.indices.begin() + lists.offsets[r + 1];
    arrays.counts[r] = static_cast<std::int32_t>(end - first);
    std::copy(first, end, arrays.indices.begin() + static_cast<std::ptrdiff_t>(r * static_cast<std::size_t>(cols)));
  }
  return arrays;
}

BlockMask block_mask_of(const Mask& mask, const AttentionProblem& problem, const TileShape& block) {
  BlockMask made;
  made.block = block;
  made.heads = problem.heads;
  made.rows = ceil_div(problem.seq_q, block.block_q);
  made.cols = ceil_div(problem.seq_kv, block.block_kv);
  const MaskPlanes by = mask.planes();
  made.mask_batch = by.by_batch ? problem.batch : 1;
  made.mask_heads = by.by_head ? problem.heads : 1;
  made.partial.rows = made.full.rows = made.rows;
  made.partial.offsets = made.full.offsets = {0};
  std::vector<Run> partial, full;
  std::int64_t by_evaluation = 0, partial_blocks = 0, full_blocks = 0;
  for (std::int64_t b = 0; b < made.mask_batch; ++b)
    for (std::int64_t h = 0; h < made.mask_heads; ++h) {
      partial.clear();
      full.clear();
      mask.walk(problem, b * problem.heads + h, block, [&](const TileBox& box) {
        if (!box.by_analysis) by_evaluation += box.tiles();
        if (box.visibility == TileVisibility::empty) return;
        (box.visibility == TileVisibility::full ? full_blocks : partial_blocks) += box.tiles();
        auto& runs = box.visibility == TileVisibility::full ? full : partial;
        for (std::int64_t row = box.first_row; row < box.end_row; ++row)
          runs.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(box.first_col),
                          static_cast<std::int32_t>(box.end_col - box.first_col)});
      });
      append_plane(made.partial, partial);
      append_plane(made.full, full);
    }
  const std::int64_t copies = problem.query_planes() / (made.mask_batch * made.mask_heads);
  const std::int64_t all = problem.query_planes() * made.rows * made.cols;
  made.partial_blocks = partial_blocks * copies;
  made.full_blocks = full_blocks * copies;
  made.empty_blocks = all - made.partial_blocks - made.full_blocks;
  made.by_evaluation = by_evaluation * copies;
  made.by_analysis = all - made.by_evaluation;
  return made;
}

bool later_rows_see_more(const BlockMask& mask) {
  std::int64_t tilt = 0;
  for (std::int64_t plane = 0; plane < mask.mask_batch * mask.mask_heads; ++plane)
    for (std::int64_t row = 0; row < mask.rows; ++row)
      tilt += (2 * row - (mask.rows - 1)) *
              static_cast<std::int64_t>(mask.partial.row(plane, row).size() + mask.full.row(plane, row).size());
  return tilt > 0;
}

std::int64_t visible_elements(const Mask& mask, const BlockMask& blocks, const AttentionProblem& problem) {
  std::int64_t count = 0;
  const auto cut = [](std::int64_t index, std::int64_t size, std::int64_t length) {
    return TileRange{index * size, std::min(size, length - index * size)};
  };
  for (std::int64_t b = 0; b < blocks.mask_batch; ++b)
    for (std::int64_t h = 0; h < blocks.mask_heads; ++h)
      for (std::int64_t r = 0; r < blocks.rows; ++r) {
        const std::int64_t plane = b * problem.heads + h, list = b * blocks.mask_heads + h;
        const TileRange queries = cut(r, blocks.block.block_q, problem.seq_q);
        for (const std::int32_t c : blocks.full.row(list, r))
          count += queries.count * cut(c, blocks.block.block_kv, problem.seq_kv).count;
        for (const std::int32_t c : blocks.partial.row(list, r))
          count += mask.count_visible(plane, queries, cut(c, blocks.block.block_kv, problem.seq_kv));
      }
  return count * (problem.query_planes() / (blocks.mask_batch * blocks.mask_heads));
}

}  // namespace tilescope
