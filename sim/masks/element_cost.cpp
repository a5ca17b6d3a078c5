// Adds up instructions, node by node.
#include "sim/masks/element_cost.h"

#include <algorithm>
#include <vector>

namespace tilescope {

namespace {

bool is_of_block(const ExprNode& node) {
  return (node.dependence & (depends_on_q | depends_on_kv | depends_on_score)) == 0;
}

const ExprNode& operand_of(const Expression& expression, const ExprNode& node, std::size_t operand) {
  return expression.nodes[static_cast<std::size_t>(node.args[operand])];
}

/// Returns for each node whether it is an int of the form a q + b kv + c.
std::vector<bool> linear_nodes(const Expression& expression) {
  std::vector<bool> linear;
  const auto is_linear = [&](const ExprNode& node) {
    const auto both = [&] {
      return linear[static_cast<std::size_t>(node.args[0])] && linear[static_cast<std::size_t>(node.args[1])];
    };
    if (node.type != ValueType::integer) return false;
    switch (node.op) {
      case ExprOp::negate:
        return bool{linear[static_cast<std::size_t>(node.args[0])]};
      case ExprOp::add:
      case ExprOp::subtract:
        return both();
      case ExprOp::multiply:
        return both() && (is_of_block(operand_of(expression, node, 0)) || is_of_block(operand_of(expression, node, 1)));
      default:
        return node.op == ExprOp::name || is_of_block(node);
    }
  };
  for (const ExprNode& node : expression.nodes) linear.push_back(is_linear(node));
  return linear;
}

/// Returns the cost of a node by itself. Its operands may be constants of the kernel.
ElementCost cost_of(const Expression& expression, const ExprNode& node, bool linear) {
  if (linear) return {};
  switch (node.op) {
    case ExprOp::exp:
      return {5.62, 1.44, 1.00};
    case ExprOp::exp2:
      return {1.78, 1.73, 1.00};
    case ExprOp::log:
      return {14.62, 11.42, 0};
    case ExprOp::tanh:
      return {5.87, 1.41, 1.25};  // four scores share a reciprocal
    case ExprOp::sigmoid:
      return {3.87, 1.41, 1.25};
    case ExprOp::sqrt:
      return {4.33, 4.79, 1.01};
    case ExprOp::divide:
      return divides_by_constant(expression, node) ? ElementCost{1, 0, 0} : ElementCost{4.91, 4.84, 1.01};
    case ExprOp::sin:
    case ExprOp::cos:
      return {16, 8, 0};  // estimate: they are functions of their own
    case ExprOp::floor_divide:
    case ExprOp::modulo:
      if (!is_of_block(operand_of(expression, node, 1))) return {12, 10, 2};  // estimate: a division of ints
      return {node.op == ExprOp::modulo ? 2.0 : 1.0, 3, 0};  // by a constant: a multiplication, a shift and two for the sign
    case ExprOp::multiply:
      return {1, 0, 0};
    case ExprOp::add:
    case ExprOp::subtract:
    case ExprOp::negate:
      return node.type == ValueType::real ? ElementCost{1, 0, 0} : ElementCost{0, 1, 0};
    case ExprOp::to_real:
      return {1, 0, 0};  // a row's number plus a constant of the register, as float
    default:
      return {0, 1, 0};
  }
}

/// Sums the marked nodes.
ElementCost cost_of_nodes(const Expression& expression, const std::vector<bool>& counted) {
  ElementCost sum;
  const std::vector<bool> linear = linear_nodes(expression);
  for (std::size_t n = 0; n < expression.nodes.size(); ++n) {
    const ExprNode& node = expression.nodes[n];
    if (!counted[n] || !is_of_element(node)) continue;
    const ElementCost one = cost_of(expression, node, linear[n]);
    sum.fp32 += one.fp32;
    sum.alu += one.alu;
    sum.special += one.special;
  }
  return sum;
}

}  // namespace

bool is_of_element(const ExprNode& node) {
  const bool of_both = (node.dependence & depends_on_q) != 0 && (node.dependence & depends_on_kv) != 0;
  return node.operands > 0 && (of_both || (node.dependence & depends_on_score) != 0);
}

bool divides_by_constant(const Expression& expression, const ExprNode& node) {
  return node.op == ExprOp::divide && is_of_block(operand_of(expression, node, 1));
}

ElementCost element_cost(const Expression& expression) {
  return cost_of_nodes(expression, std::vector<bool>(expression.nodes.size(), true));
}

std::vector<bool> nodes_beyond(const Expression& slope, const Expression& expression) {
  std::vector<bool> needed(slope.nodes.size(), false);
  needed.back() = true;
  for (std::size_t n = slope.nodes.size(); n-- > 0;)
    for (std::size_t a = 0; needed[n] && a < slope.nodes[n].operands; ++a)
      needed[static_cast<std::size_t>(slope.nodes[n].args[a])] = true;
  // The derivative's nodes follow those of the expression.
  std::fill_n(needed.begin(), expression.nodes.size(), false);
  return needed;
}

ElementCost slope_cost(const Expression& slope, const Expression& expression) {
  return cost_of_nodes(slope, nodes_beyond(slope, expression));
}

}  // namespace tilescope
