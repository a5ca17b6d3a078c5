// Follows the axes and planes that a tensor declares.
#include "sim/programs/tensor_layout.h"

#include <algorithm>

#include "sim/core/mask.h"
#include "sim/core/page_table.h"
#include "sim/masks/score_change.h"

namespace tilescope {

namespace {

/// The length of an axis and of a tile along it, in elements.
struct Extent {
  std::int64_t length = 1, tile = 1;
};

/// `of_row`: of a tensor's rows. A tile of a block list is one row with all its entries.
Extent extent_of(Axis axis, const AttentionProblem& problem, const TileShape& tile, bool of_row) {
  switch (axis) {
    case Axis::one:
      return {};
    case Axis::query:
      return {problem.seq_q, tile.block_q};
    case Axis::key:
      return {problem.seq_kv, tile.block_kv};
    case Axis::head:
      return {problem.head_dim, problem.head_dim};
    case Axis::query_block:
    case Axis::key_block: {
      const TileShape block = mask_block_of(problem, tile);
      const std::int64_t blocks =
          axis == Axis::query_block ? ceil_div(problem.seq_q, block.block_q) : ceil_div(problem.seq_kv, block.block_kv);
      return {blocks, of_row ? 1 : blocks};
    }
    case Axis::table_row:
    case Axis::table_col:
      break;  // see table_layout()
    case Axis::key_page: {
      constexpr std::int64_t entries_of_a_sector = sector_size / 4;
      const std::int64_t pages = problem.page_size > 0 ? pages_of_sequence(problem) : 1;
      return {pages, std::min(pages, entries_of_a_sector)};
    }
  }
  return {};
}

std::int64_t planes_of(Planes planes, const AttentionProblem& problem) {
  if (planes == Planes::key) return problem.kv_planes();
  if (planes == Planes::query) return problem.query_planes();
  if (planes == Planes::sequence) return problem.batch;
  if (planes == Planes::all) return 1;
  const MaskPlanes by = mask_of(problem)->planes();
  return (by.by_batch ? problem.batch : 1) * (by.by_head ? problem.heads : 1);
}

/// Returns the layout of the gradient of a captured table, or of its parts.
TensorLayout table_layout(const AttentionProblem& problem, const TileShape& tile, Tensor tensor) {
  constexpr std::int64_t most_rows = 16, most_cols = 128;  // that the memory model tracks together
  TensorLayout layout;
  layout.planes = layout.rows = layout.cols = 1;
  layout.element_bytes = element_bytes(type_of(tensor, problem.dtype));
  const auto place = static_cast<std::size_t>(tensor->table);
  if (problem.score_change && place < problem.score_change->table_gradients().size()) {
    const TableGradient& gradient = problem.score_change->table_gradients()[place];
    layout.rows = gradient.rows();
    layout.cols = gradient.cols();
    if (tensor->read >= 0) {
      const TableParts parts(*problem.score_change->table_reads()[static_cast<std::size_t>(tensor->read)], problem, tile);
      layout.rows = parts.rows();
      layout.cols = parts.cols();
    }
  }
  layout.tile_rows = std::min(layout.rows, most_rows);
  layout.tile_cols = std::min(layout.cols, most_cols);
  return layout;
}

}  // namespace

TensorLayout tensor_layout(const AttentionProblem& problem, const TileShape& tile, Tensor tensor) {
  if (tensor->rows == Axis::table_row) return table_layout(problem, tile, tensor);
  const DataType type = type_of(tensor, problem.dtype);
  const Extent rows = extent_of(tensor->rows, problem, tile, true), cols = extent_of(tensor->cols, problem, tile, false);
  TensorLayout layout;
  layout.planes = planes_of(tensor->planes, problem);
  layout.rows = rows.length;
  layout.cols = cols.length;
  layout.element_bytes = element_bytes(type);
  layout.tile_rows = rows.tile;
  layout.tile_cols = cols.tile;
  if (tensor->cols == Axis::key || tensor->cols == Axis::key_page) layout.pad = row_pitch(layout.cols, type) - layout.cols;
  return layout;
}

TensorLayouts tensor_layouts(const AttentionProblem& problem, const TileShape& tile, std::span<const Tensor> tensors) {
  TensorLayouts layouts;
  for (Tensor tensor : tensors) layouts[tensor.index()] = tensor_layout(problem, tile, tensor);
  return layouts;
}

TensorLayout memory_layout(const AttentionProblem& problem, const TileShape& tile, Tensor tensor) {
  TensorLayout layout = tensor_layout(problem, tile, tensor);
  if (problem.page_size == 0 || !PageTable::holds(tensor)) return layout;
  layout.planes = problem.kv_heads;
  layout.rows = pool_rows(problem);
  layout.tile_rows = std::min(layout.tile_rows, problem.page_size);
  return layout;
}

TensorLayouts memory_layouts(const AttentionProblem& problem, const TileShape& tile, std::span<const Tensor> tensors) {
  TensorLayouts layouts;
  for (const Tensor tensor : tensors) layouts[tensor.index()] = memory_layout(problem, tile, tensor);
  return layouts;
}

}  // namespace tilescope
