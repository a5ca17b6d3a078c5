// The parts of an expression at an element, and whether differences of the whole can show its derivative there.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "sim/masks/evaluate.h"

namespace tilescope {

/// Returns the value of each part of an expression at an element.
inline std::vector<ExprValue<double>> parts_of(const Expression& expression, const ExprElement& element, double score) {
  std::vector<ExprValue<double>> values;
  for (const ExprNode& node : expression.nodes)
    values.push_back(evaluate_node<double>(node, values, {&expression.sizes, &expression.tables, element, score}));
  return values;
}

/// Returns whether a sum is so large that it rounds away how its operand changes from one evaluation to the next: score + 1e300 is
/// a constant in doubles, though its derivative is 1.
inline bool rounds_a_change_away(const Expression& expression, const std::vector<ExprValue<double>>& below,
                                 const std::vector<ExprValue<double>>& above) {
  for (std::size_t n = 0; n < expression.nodes.size(); ++n) {
    const ExprNode& node = expression.nodes[n];
    if (node.op != ExprOp::add && node.op != ExprOp::subtract) continue;
    const double spacing = std::abs(above[n].real) * std::numeric_limits<double>::epsilon();
    for (int i = 0; i < node.operands; ++i) {
      const auto operand = static_cast<std::size_t>(node.args[static_cast<std::size_t>(i)]);
      const double change = std::abs(above[operand].real - below[operand].real);
      if (change != 0 && spacing > 1e-4 * change) return true;
    }
  }
  return false;
}

}  // namespace tilescope
