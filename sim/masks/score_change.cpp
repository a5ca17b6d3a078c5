// Applies score expressions, and finds elements at fault before anything runs.
#include "sim/masks/score_change.h"

#include <utility>

#include "sim/core/refuse.h"
#include "sim/core/units.h"
#include "sim/masks/derivative.h"
#include "sim/masks/element_cost.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/interval_analysis.h"

namespace tilescope {

namespace {

constexpr std::int64_t smallest_range = 16;

/// Looks for a visible element at fault in a block of one plane.
class FaultSearch {
 public:
  FaultSearch(const Expression& expression, const Mask* mask)
      : expression_(expression), mask_(mask), analysis_(expression, ranges_of(expression.tables)), elements_(expression) {}

  /// Empty, or what is wrong with the first element found.
  Sentence plane(std::int64_t number) {
    plane_ = number;
    analysis_.set_plane(number / expression_.sizes.heads, number % expression_.sizes.heads);
    return block({0, expression_.sizes.seq_q}, {0, expression_.sizes.seq_kv});
  }

 private:
  Sentence block(TileRange queries, TileRange keys) {
    if (!analysis_(queries, keys).can_fault) return {};
    if (mask_ != nullptr && mask_->tile(plane_, queries, keys) == TileVisibility::empty) return {};
    if (queries.count <= smallest_range && keys.count <= smallest_range) return look(queries, keys);
    const auto halves = [](TileRange range) {
      const std::int64_t half = range.count > smallest_range ? ceil_div(range.count, 2) : range.count;
      return std::pair{TileRange{range.first, half}, TileRange{range.first + half, range.count - half}};
    };
    const auto [first_queries, last_queries] = halves(queries);
    const auto [first_keys, last_keys] = halves(keys);
    for (const TileRange& q : {first_queries, last_queries})
      for (const TileRange& kv : {first_keys, last_keys})
        if (q.count > 0 && kv.count > 0)
          if (Sentence fault = block(q, kv); !fault.empty()) return fault;
    return {};
  }

  /// A score may choose either operand, so an element is at fault where the analysis of it alone says that it can be.
  Sentence look(TileRange queries, TileRange keys) {
    for (std::int64_t q = queries.first; q < queries.end(); ++q)
      for (std::int64_t kv = keys.first; kv < keys.end(); ++kv) {
        if (mask_ != nullptr && !mask_->visible(plane_, q, kv)) continue;
        if (!analysis_({q, 1}, {kv, 1}).can_fault) continue;
        const ExprElement element{plane_ / expression_.sizes.heads, plane_ % expression_.sizes.heads, q, kv};
        for (const float score : {0.0F, 1e30F, -1e30F}) {
          elements_(element, score);
          if (Sentence fault = elements_.fault(element); !fault.empty()) return fault;
        }
        return phrase("an index may leave its table, or a divisor be zero, for some score at b {}, h {}, q {}, kv {}", element.b,
                      element.h, q, kv);
      }
    return {};
  }

  const Expression& expression_;
  const Mask* mask_;
  IntervalAnalysis analysis_;
  ExpressionEvaluator<float> elements_;
  std::int64_t plane_ = 0;
};

/// Arithmetic operations, and evaluations of exponentials, logarithms, roots and reciprocals.
ScoreCost cost_of(ExprOp op) {
  switch (op) {
    case ExprOp::exp:
    case ExprOp::exp2:
      return {1, 1};
    case ExprOp::log:
      return {2, 1};
    case ExprOp::sigmoid:
      return {3, 2};
    case ExprOp::tanh:
      return {10, 2};
    case ExprOp::sqrt:
    case ExprOp::divide:
      return {6, 1};
    case ExprOp::sin:
    case ExprOp::cos:
      return {8, 1};
    case ExprOp::floor_divide:
    case ExprOp::modulo:
      return {12, 0};
    default:
      return {1, 0};
  }
}

/// Sums the work of the marked nodes.
ScoreCost work_of_nodes(const Expression& expression, const std::vector<bool>& counted) {
  ScoreCost cost;
  for (std::size_t n = 0; n < expression.nodes.size(); ++n) {
    const ExprNode& node = expression.nodes[n];
    if (!counted[n] || !is_of_element(node)) continue;
    const ScoreCost one = divides_by_constant(expression, node) ? ScoreCost{1, 0} : cost_of(node.op);
    cost.operations += one.operations;
    cost.exps += one.exps;
  }
  return cost;
}

template <class Real>
void apply_to(const Expression& expression, std::int64_t plane, std::int64_t query, std::int64_t first_key,
              std::span<Real> scores) {
  ExpressionEvaluator<Real> evaluator(expression);
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] =
        evaluator({plane / expression.sizes.heads, plane % expression.sizes.heads, query, first_key + static_cast<std::int64_t>(i)},
                  scores[i])
            .real;
}

}  // namespace

ScoreChange::ScoreChange(Expression expression, std::vector<TableGradient> gradients)
    : expression_(std::move(expression)), gradients_(std::move(gradients)) {
  for (const TableGradient& gradient : gradients_)
    for (const TableRead& read : gradient.reads) reads_.push_back(&read);
  Expression slope = derivative_by_score(expression_);
  const bool is_one = slope.dependence() == 0 && ExpressionEvaluator<double>(slope)({}).real == 1;
  if (!is_one) slope_ = std::move(slope);
}

Result<std::shared_ptr<const ScoreChange>> ScoreChange::make(Expression expression, const Mask* mask,
                                                             std::vector<TableGradient> gradients) {
  const std::shared_ptr<ScoreChange> change(new ScoreChange(std::move(expression), std::move(gradients)));
  FaultSearch search(change->expression_, mask);
  const ExprSizes& sizes = change->expression_.sizes;
  const bool one_batch = (change->expression_.dependence() & depends_on_b) == 0 && (mask == nullptr || !mask->planes().by_batch);
  const bool one_head = (change->expression_.dependence() & depends_on_h) == 0 && (mask == nullptr || !mask->planes().by_head);
  for (std::int64_t b = 0; b < (one_batch ? 1 : sizes.batch); ++b)
    for (std::int64_t h = 0; h < (one_head ? 1 : sizes.heads); ++h)
      if (Sentence fault = search.plane(b * sizes.heads + h); !fault.empty()) return Error{std::move(fault)};
  return std::shared_ptr<const ScoreChange>(change);
}

Status ScoreChange::fits(const AttentionProblem& problem) const {
  if (Sentence why = size_fault(phrase("score expression"), expression_.sizes, problem); !why.empty()) return Error{std::move(why)};
  return Done{};
}

ScoreCost ScoreChange::cost() const {
  return work_of_nodes(expression_, std::vector<bool>(expression_.nodes.size(), true));
}

ScoreCost ScoreChange::slope_cost() const {
  return slope_ ? work_of_nodes(*slope_, nodes_beyond(*slope_, expression_)) : ScoreCost();
}

ScoreCost ScoreChange::factor_cost(const TableRead& read) const {
  return read.factor ? work_of_nodes(*read.factor, nodes_beyond(*read.factor, expression_)) : ScoreCost();
}

void ScoreChange::apply(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<float> scores) const {
  apply_to(expression_, plane, query, first_key, scores);
}
void ScoreChange::apply(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<double> scores) const {
  apply_to(expression_, plane, query, first_key, scores);
}

void ScoreChange::apply_slope(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<float> scores) const {
  apply_to(*slope_, plane, query, first_key, scores);
}
void ScoreChange::apply_slope(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<double> scores) const {
  apply_to(*slope_, plane, query, first_key, scores);
}

}  // namespace tilescope
