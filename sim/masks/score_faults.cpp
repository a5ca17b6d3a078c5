// Looks at the root and at each logarithm and root.
#include "sim/masks/score_faults.h"

#include <cmath>
#include <vector>

#include "sim/core/refuse.h"
#include "sim/masks/evaluate.h"

namespace tilescope {

namespace {

/// Whether each node is known not to be negative, whatever the score is. Ints count as unknown.
std::vector<bool> not_negative(const Expression& score) {
  std::vector<bool> known(score.nodes.size());
  for (std::size_t n = 0; n < known.size(); ++n) {
    const ExprNode& node = score.nodes[n];
    const auto of = [&](std::size_t i) { return known[static_cast<std::size_t>(node.args[i])]; };
    switch (node.op) {
      case ExprOp::constant:
        known[n] = node.type == ValueType::real && node.real >= 0;
        break;
      case ExprOp::name:
        known[n] = node.name == ExprName::scale || node.name == ExprName::inf;
        break;
      case ExprOp::absolute:
      case ExprOp::exp:
      case ExprOp::exp2:
      case ExprOp::sigmoid:
      case ExprOp::sqrt:
        known[n] = true;
        break;
      case ExprOp::multiply:
        known[n] = node.args[0] == node.args[1] || (of(0) && of(1));
        break;
      case ExprOp::add:
      case ExprOp::divide:
      case ExprOp::minimum:
        known[n] = of(0) && of(1);
        break;
      case ExprOp::maximum:
        known[n] = of(0) || of(1);
        break;
      case ExprOp::select:
        known[n] = of(1) && of(2);
        break;
      default:
        break;
    }
  }
  return known;
}

}  // namespace

Sentence score_faults(const Expression& score) {
  if (score.dependence() == 0) {
    const double value = ExpressionEvaluator<double>(score)({}).real;
    if (std::isnan(value)) return phrase("every score is NaN, and so is every row of O");
    if (value > 0 && std::isinf(value)) return phrase("every score is inf, so every row of O is NaN");
    return {};
  }
  const std::vector<bool> known = not_negative(score);
  for (const ExprNode& node : score.nodes) {
    if (node.op != ExprOp::log && node.op != ExprOp::sqrt) continue;
    const auto of = static_cast<std::size_t>(node.args[0]);
    if ((score.nodes[of].dependence & depends_on_score) == 0 || known[of]) continue;
    const std::uint32_t column = node.column;
    return node.op == ExprOp::log
               ? phrase(
                     "column {}: the log of a negative score is NaN, and a row of O with one is NaN; write log(max(score, 1e-6))",
                     column)
               : phrase("column {}: the sqrt of a negative score is NaN, and a row of O with one is NaN; write sqrt(max(score, 0))",
                        column);
  }
  return {};
}

}  // namespace tilescope
