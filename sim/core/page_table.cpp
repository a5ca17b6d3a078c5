// Orders the pages of a pool, and places tiles in it.
#include "sim/core/page_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr double largest_pool_bytes = 70368744177664.0;  // 2^46, as of any tensor

bool suits_tile(const AttentionProblem& problem, const TileShape& tile) {
  return problem.page_size % tile.block_kv == 0 || tile.block_kv % problem.page_size == 0;
}

std::int64_t pages_of_pool(const AttentionProblem& problem) {
  return problem.batch * pages_of_sequence(problem);
}

/// Returns whether rows of the pool can be numbered in 32 bits, and its bytes in 64.
bool can_be_numbered(const AttentionProblem& problem) {
  const std::int64_t pages = pages_of_pool(problem);
  if (pages > PageTable::most_pages || pages * problem.page_size > std::numeric_limits<std::int32_t>::max()) return false;
  const auto row_bytes = static_cast<double>(problem.head_dim * element_bytes(problem.dtype));
  return static_cast<double>(problem.kv_heads) * static_cast<double>(pages * problem.page_size) * row_bytes <= largest_pool_bytes;
}

}  // namespace

PageTable::PageTable(const AttentionProblem& problem)
    : page_size_(problem.page_size), pages_each_(pages_of_sequence(problem)), kv_heads_(problem.kv_heads) {
  pages_.resize(static_cast<std::size_t>(pages_of_pool(problem)));
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

std::int64_t pool_rows(const AttentionProblem& problem) {
  return pages_of_pool(problem) * problem.page_size;
}

std::shared_ptr<const PageTable> page_table_of(const AttentionProblem& problem) {
  return problem.page_size > 0 ? std::make_shared<const PageTable>(problem) : nullptr;
}

std::optional<std::int64_t> page_size_that_fits(const AttentionProblem& problem, const TileShape& tile,
                                                const std::function<bool(const AttentionProblem&)>& fits) {
  AttentionProblem other = problem;
  const auto taken = [&](std::int64_t page_size) {
    other.page_size = page_size;
    return can_be_numbered(other) && (!fits || fits(other));
  };
  // In key tiles. A page longer than a sequence only adds keys that are never read.
  const std::int64_t whole = ceil_div(problem.seq_kv, tile.block_kv);
  const std::int64_t above = std::min(ceil_div(problem.page_size, tile.block_kv), whole);
  if (taken(above * tile.block_kv)) return other.page_size;
  for (std::int64_t tiles = std::min(problem.page_size / tile.block_kv, whole); tiles > 0; tiles /= 2)
    if (taken(tiles * tile.block_kv)) return other.page_size;
  for (std::int64_t part = tile.block_kv; part % 2 == 0; part /= 2)
    if (taken(part / 2)) return other.page_size;
  for (std::int64_t tiles = above; tiles < whole;)
    if (tiles = std::min(2 * tiles, whole); taken(tiles * tile.block_kv)) return other.page_size;
  return std::nullopt;
}

Status check_pages(const AttentionProblem& problem, const TileShape& tile) {
  if (problem.page_size == 0 || (suits_tile(problem, tile) && can_be_numbered(problem))) return Done{};
  const std::optional<std::int64_t> other = page_size_that_fits(problem, tile);
  if (other && !suits_tile(problem, tile))
    return refuse("{} is {}, and the key tile is {}: one must be a multiple of the other, such as {}", Setting::page_size,
                  problem.page_size, tile.block_kv, *other);
  if (other)
    return refuse("{} is {}: a pool of {} pages is too large; use {} {}", Setting::page_size, problem.page_size,
                  pages_of_pool(problem), Setting::page_size, *other);
  return refuse("{} is {}: a pool of {} pages is too large; use a smaller {} or {}", Setting::page_size, problem.page_size,
                pages_of_pool(problem), Setting::batch, Setting::seq_kv);
}

}  // namespace tilescope
