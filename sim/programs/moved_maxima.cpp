// Estimates how often maxima grow, from what a score expression adds at some keys of each tile.
//
//   Scores are normal numbers of deviation 1. The largest of n of them is close to a Gumbel number of scale 1 / √(2 ln n). Of
//   Gumbel numbers that are shifted by b, the largest of the first j tiles lies in tile j with probability
//     w(j) / (w(1) + … + w(j)),   w = Σ exp(b · √(2 ln n)) over the keys of a tile
//   which is 1 / j where nothing is added.
#include "sim/programs/moved_maxima.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/masks/evaluate.h"
#include "sim/masks/score_change.h"
#include "sim/programs/online_softmax.h"

namespace tilescope {

namespace {

constexpr std::int64_t most_heads = 8, most_query_tiles = 8, keys_of_tile = 8;  // looked at, evenly spaced

/// Returns the expression of a problem if it treats keys unequally, otherwise null.
const Expression* expression_by_key(const AttentionProblem& problem) {
  if (!problem.score_change) return nullptr;
  const Expression& expression = problem.score_change->expression();
  return (expression.dependence() & depends_on_kv) != 0 ? &expression : nullptr;
}

/// Returns up to `most` numbers below `count`.
std::vector<std::int64_t> spread(std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(std::min(count, most)));
  const auto size = static_cast<std::int64_t>(numbers.size());
  for (std::int64_t i = 0; i < size; ++i) numbers[static_cast<std::size_t>(i)] = (2 * i + 1) * count / (2 * size);
  return numbers;
}

/// log(exp(a) + exp(b))
double log_sum(double a, double b) {
  const double more = std::max(a, b);
  return std::isinf(more) ? more : more + std::log1p(std::exp(std::min(a, b) - more));
}

class RowMaxima {
 public:
  RowMaxima(const TileGrid& grid, const Expression& expression)
      : grid_(grid),
        evaluator_(expression),
        sharpness_(std::sqrt(2 * std::log(std::max<double>(2, static_cast<double>(grid.tile.block_kv))))) {}

  /// Returns the tiles in which a maximum of a warp grows, all of whose rows are like `query`.
  double moved(std::int64_t plane, std::int64_t head, std::int64_t query, std::span<const KeyTile> visits) {
    double moved = 0, before = -std::numeric_limits<double>::infinity();
    for (const KeyTile& tile : visits) {
      const double own = log_weight(plane, head, query, tile);
      const double after = log_sum(before, own);
      if (!std::isinf(own)) moved += some_row_moves(std::exp(own - after), grid_.tile.block_q);
      before = after;
    }
    return moved;
  }

 private:
  /// Returns log w of a tile; minus infinity where the query sees none of the keys that are looked at.
  double log_weight(std::int64_t plane, std::int64_t head, std::int64_t query, const KeyTile& tile) {
    const TileRange keys = grid_.keys(tile.index);
    double sum = -std::numeric_limits<double>::infinity();
    for (const std::int64_t at : spread(keys.count, keys_of_tile)) {
      const std::int64_t key = keys.first + at;
      if (tile.partial && !grid_.mask->visible(plane, query, key)) continue;
      const ExprValue<float>& added = evaluator_({plane / grid_.problem.heads, head, query, key});
      if (!added.fault && std::isfinite(added.real)) sum = log_sum(sum, sharpness_ * static_cast<double>(added.real));
    }
    return sum;
  }

  const TileGrid& grid_;
  ExpressionEvaluator<float> evaluator_;
  double sharpness_;  // 1 / the scale of the Gumbel numbers
};

/// Returns the mean share for rows in the middle of these, over heads.
double share_of_rows(const TileGrid& grid, std::int64_t plane, std::span<const TileRange> rows, std::span<const KeyTile> visits) {
  RowMaxima maxima(grid, *expression_by_key(grid.problem));
  const std::vector<std::int64_t> heads = spread(grid.problem.heads, most_heads);
  double moved = 0;
  for (const std::int64_t head : heads)
    for (const TileRange& own : rows) moved += maxima.moved(plane, head, own.first + own.count / 2, visits);
  return moved / static_cast<double>(heads.size() * rows.size() * visits.size());
}

}  // namespace

MovedMaxima::MovedMaxima(const TileGrid& grid) {
  if (expression_by_key(grid.problem) == nullptr) return;
  if (!grid.problem.has_mask()) {
    std::vector<TileRange> rows;
    for (const std::int64_t i : spread(grid.query_tiles, most_query_tiles)) rows.push_back(grid.queries(i));
    of_all_ = share_of_rows(grid, 0, rows, grid.visits(0, 0));
    return;
  }
  const MaskPlanes planes = grid.mask->planes();
  for (std::int64_t b = 0; b < (planes.by_batch ? grid.problem.batch : 1); ++b)
    for (std::int64_t h = 0; h < (planes.by_head ? grid.problem.heads : 1); ++h)
      for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
        const std::int64_t plane = b * grid.problem.heads + h;
        first_of_class_.try_emplace(grid.row_class(plane, i), QueryTile{plane, i});
      }
}

double MovedMaxima::share(const TileGrid& grid, std::int64_t plane, std::int64_t i, std::span<const KeyTile> visits) const {
  if (of_all_) return *of_all_;
  if (visits.empty() || first_of_class_.empty()) return moved_share(grid.tile.block_q, static_cast<std::int64_t>(visits.size()));
  const QueryTile& first = first_of_class_.at(grid.row_class(plane, i));
  const TileRange rows = grid.queries(first.i);
  return share_of_rows(grid, first.plane, {&rows, 1}, visits);
}

}  // namespace tilescope
