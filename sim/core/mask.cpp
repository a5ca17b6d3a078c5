// No mask, the causal one, and one given element by element.
#include "sim/core/mask.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/core/refuse.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

class NoMask final : public Mask {
 public:
  bool visible(std::int64_t, std::int64_t, std::int64_t) const override { return true; }
  TileVisibility tile(std::int64_t, TileRange, TileRange) const override { return TileVisibility::full; }
  std::int64_t row_class(std::int64_t, std::int64_t) const override { return 0; }
};

/// Aligned bottom right: query i sees keys j <= i + seq_kv - seq_q.
class CausalMask final : public Mask {
 public:
  explicit CausalMask(std::int64_t keys_before) : keys_before_(keys_before) {}

  bool visible(std::int64_t, std::int64_t query, std::int64_t key) const override { return key <= query + keys_before_; }
  TileVisibility tile(std::int64_t plane, TileRange queries, TileRange keys) const override {
    if (!visible(plane, queries.end() - 1, keys.first)) return TileVisibility::empty;
    return visible(plane, queries.first, keys.end() - 1) ? TileVisibility::full : TileVisibility::partial;
  }
  std::int64_t row_class(std::int64_t, std::int64_t query_tile) const override { return query_tile; }

 private:
  std::int64_t keys_before_;
};

}  // namespace

Status Mask::fits(const AttentionProblem&) const {
  return Done{};
}

void Mask::walk(const AttentionProblem& problem, std::int64_t plane, const TileShape& tile,
                const std::function<void(const TileBox&)>& found) const {
  const std::int64_t rows = ceil_div(problem.seq_q, tile.block_q), cols = ceil_div(problem.seq_kv, tile.block_kv);
  for (std::int64_t i = 0; i < rows; ++i) {
    const TileRange queries{i * tile.block_q, std::min(tile.block_q, problem.seq_q - i * tile.block_q)};
    for (std::int64_t j = 0; j < cols; ++j) {
      const TileRange keys{j * tile.block_kv, std::min(tile.block_kv, problem.seq_kv - j * tile.block_kv)};
      found({i, i + 1, j, j + 1, this->tile(plane, queries, keys), false});
    }
  }
}

std::int64_t Mask::count_visible(std::int64_t plane, TileRange queries, TileRange keys) const {
  std::int64_t count = 0;
  for (std::int64_t q = queries.first; q < queries.end(); ++q)
    for (std::int64_t kv = keys.first; kv < keys.end(); ++kv) count += visible(plane, q, kv) ? 1 : 0;
  return count;
}

MatrixMask::MatrixMask(std::int64_t rows, std::int64_t cols, std::vector<bool> visible)
    : rows_(rows), cols_(cols), visible_(std::move(visible)), counts_(static_cast<std::size_t>((rows + 1) * (cols + 1)), 0) {
  assert(static_cast<std::int64_t>(visible_.size()) == rows * cols);
  const auto at = [&](std::int64_t r, std::int64_t c) -> std::int64_t& {
    return counts_[static_cast<std::size_t>(r * (cols + 1) + c)];
  };
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      at(r + 1, c + 1) = at(r, c + 1) + at(r + 1, c) - at(r, c) + (visible_[static_cast<std::size_t>(r * cols + c)] ? 1 : 0);
}

bool MatrixMask::visible(std::int64_t, std::int64_t query, std::int64_t key) const {
  return visible_[static_cast<std::size_t>(query * cols_ + key)];
}

TileVisibility MatrixMask::tile(std::int64_t, TileRange queries, TileRange keys) const {
  const auto at = [&](std::int64_t r, std::int64_t c) { return counts_[static_cast<std::size_t>(r * (cols_ + 1) + c)]; };
  const std::int64_t seen =
      at(queries.end(), keys.end()) - at(queries.first, keys.end()) - at(queries.end(), keys.first) + at(queries.first, keys.first);
  if (seen == 0) return TileVisibility::empty;
  return seen == queries.count * keys.count ? TileVisibility::full : TileVisibility::partial;
}

std::int64_t MatrixMask::row_class(std::int64_t, std::int64_t query_tile) const {
  return query_tile;
}

Status MatrixMask::fits(const AttentionProblem& problem) const {
  if (problem.seq_q == rows_ && problem.seq_kv == cols_) return Done{};
  return refuse("the mask was made for {} queries and {} keys, and the problem has {} and {}: make the mask again", rows_, cols_,
                problem.seq_q, problem.seq_kv);
}

std::shared_ptr<const Mask> mask_of(const AttentionProblem& problem) {
  if (problem.mask) return problem.mask;
  if (problem.causal) return std::make_shared<CausalMask>(problem.seq_kv - problem.seq_q);
  static const std::shared_ptr<const Mask> none = std::make_shared<NoMask>();
  return none;
}

std::int64_t mask_plane_of(const AttentionProblem& problem, std::int64_t plane) {
  if (!problem.mask) return 0;
  const MaskPlanes by = problem.mask->planes();
  const std::int64_t b = by.by_batch ? plane / problem.heads : 0, h = by.by_head ? plane % problem.heads : 0;
  return b * (by.by_head ? problem.heads : 1) + h;
}

std::int64_t plane_of(const AttentionProblem& problem, Planes planes, std::int64_t plane) {
  switch (planes) {
    case Planes::query:
      return plane;
    case Planes::key:
      return problem.kv_plane_of(plane);
    case Planes::mask:
      return mask_plane_of(problem, plane);
    case Planes::sequence:
      return plane / problem.heads;
    case Planes::all:
      return 0;
  }
  return plane;
}

}  // namespace tilescope
