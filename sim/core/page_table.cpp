// Orders the pages of a pool, and places tiles in it.
#include "sim/core/page_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "sim/core/refuse.h"

namespace tilescope {

PageTable::PageTable(const AttentionProblem& problem)
    : page_size_(problem.page_size), pages_each_(pages_of_sequence(problem)), kv_heads_(problem.kv_heads) {
  pages_.resize(static_cast<std::size_t>(problem.batch * pages_each_));
  std::iota(pages_.begin(), pages_.end(), 0);
  if (problem.page_order == PageOrder::shuffled) {
    constexpr std::uint64_t seed = 1;
    std::mt19937_64 random(seed);
    // Not std::shuffle, whose order differs from library to library.
    for (std::size_t left = pages_.size(); left > 1; --left) std::swap(pages_[left - 1], pages_[random() % left]);
  }
  owners_.resize(pages_.size());
  for (std::size_t number = 0; number < pages_.size(); ++number)
    owners_[static_cast<std::size_t>(pages_[number])] = static_cast<std::int32_t>(number);
}

TileRef PageTable::place(const TileRef& tile) const {
  if (!holds(tile.tensor)) return tile;
  TileRef at = tile;
  at.plane = static_cast<std::int32_t>(tile.plane % kv_heads_);
  at.row = static_cast<std::int32_t>(page(tile.plane / kv_heads_, tile.row / page_size_) * page_size_ + tile.row % page_size_);
  return at;
}

std::int64_t page_pitch(const AttentionProblem& problem) {
  return row_pitch(pages_of_sequence(problem), DataType::fp32);  // int32 has the size of fp32
}

std::shared_ptr<const PageTable> page_table_of(const AttentionProblem& problem) {
  return problem.page_size > 0 ? std::make_shared<const PageTable>(problem) : nullptr;
}

TensorLayout memory_layout(const AttentionProblem& problem, const TileShape& tile, Tensor tensor) {
  TensorLayout layout = tensor_layout(problem, tile, tensor);
  if (problem.page_size == 0 || !PageTable::holds(tensor)) return layout;
  layout.planes = problem.kv_heads;
  layout.rows = problem.batch * pages_of_sequence(problem) * problem.page_size;
  layout.tile_rows = std::min(layout.tile_rows, problem.page_size);
  return layout;
}

TensorLayouts memory_layouts(const AttentionProblem& problem, const TileShape& tile, std::span<const Tensor> tensors) {
  TensorLayouts layouts;
  for (const Tensor tensor : tensors) layouts[tensor.index()] = memory_layout(problem, tile, tensor);
  return layouts;
}

Status check_pages(const AttentionProblem& problem, const TileShape& tile) {
  if (problem.page_size == 0) return Done{};
  if (problem.page_size % tile.block_kv != 0 && tile.block_kv % problem.page_size != 0)
    return refuse("{} is {}, and the key tile is {}: one must be a multiple of the other, such as {}", Setting::page_size,
                  problem.page_size, tile.block_kv, ceil_div(problem.page_size, tile.block_kv) * tile.block_kv);
  const std::int64_t pages = problem.batch * pages_of_sequence(problem);
  if (pages > PageTable::most_pages || pages * problem.page_size > std::numeric_limits<std::int32_t>::max())
    return refuse("{} is {}: a pool of {} pages is too large; use a larger {} or a smaller {} or {}", Setting::page_size,
                  problem.page_size, pages, Setting::page_size, Setting::batch, Setting::seq_kv);
  return Done{};
}

}  // namespace tilescope
