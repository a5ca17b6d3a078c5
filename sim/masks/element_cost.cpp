// Adds up instructions, node by node.
#include "sim/masks/element_cost.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/masks/function_costs.h"

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

/// Returns for each node whether it is the score times or by constants, which the kernels make one factor of the raw product.
std::vector<bool> multiples_of_score(const Expression& expression) {
  std::vector<bool> multiples;
  for (const ExprNode& node : expression.nodes) {
    const auto is = [&](std::size_t operand) { return bool{multiples[static_cast<std::size_t>(node.args[operand])]}; };
    const auto is_constant = [&](std::size_t operand) { return operand_of(expression, node, operand).dependence == 0; };
    multiples.push_back((node.op == ExprOp::name && node.name == ExprName::score) ||
                        (node.op == ExprOp::multiply && ((is(0) && is_constant(1)) || (is(1) && is_constant(0)))) ||
                        (node.op == ExprOp::divide && is(0) && is_constant(1)));
  }
  return multiples;
}

bool is_constant_times_tanh(const Expression& expression, const ExprNode& node) {
  if (node.op != ExprOp::multiply) return false;
  const ExprNode &a = operand_of(expression, node, 0), &b = operand_of(expression, node, 1);
  return (a.op == ExprOp::tanh && b.dependence == 0) || (b.op == ExprOp::tanh && a.dependence == 0);
}

/// Returns the cost of a call for one, two or four sines with small arguments: the sines, their comparison with the bound and
/// what surrounds a branch and a call.
/// Source  kernels/lab/measured/h100-flex-functions-2026-11-27.txt: four cosines take 55, 21 and 1 instructions. The comparisons
/// and
///         the surroundings of the call are estimated.
ElementCost cost_of_sines(std::size_t count, const GpuSpec& gpu) {
  constexpr ElementCost each = {15, 6, 0.25}, call = {5, 4, 0};
  const int computed = count > 2 ? 4 : static_cast<int>(count);
  const double cycles = computed == 1   ? gpu.sm_sine_call_cycles
                        : computed == 2 ? gpu.sm_two_sines_call_cycles
                                        : gpu.sm_four_sines_call_cycles;
  return {each.fp32 * computed + call.fp32, each.alu * computed + call.alu, each.special * computed, cycles};
}

/// Returns the counted cost of a function.
ElementCost counted_cost(std::string_view function) {
  const std::span<const FunctionCost> rows = function_costs();
  const auto row = std::ranges::find(rows, function, &FunctionCost::function);
  return row == rows.end() ? ElementCost{} : row->cost;
}

/// Returns the cost of a division that no reciprocal of a constant replaces. It branches to a call for numbers out of range, so a
/// warp waits for one score's quotient before it starts the next. Source  kernels/lab/measured/h200-call-latency-2026-11-28.txt, a
/// warp alone: 70.76 cycles, without the division 3.33
ElementCost cost_of_division() {
  ElementCost cost = counted_cost("divide");
  cost.in_calls = 70.76 - 3.33;
  return cost;
}

/// Returns the cost of a node by itself. Its operands may be constants of the kernel.
ElementCost cost_of(const Expression& expression, const ExprNode& node, bool linear) {
  if (linear || is_constant_times_tanh(expression, node)) return {};
  switch (node.op) {
    case ExprOp::exp:
      return counted_cost("exp");
    case ExprOp::exp2:
      return counted_cost("exp2");
    case ExprOp::log:
      return counted_cost("log");
    case ExprOp::tanh:
      return counted_cost("tanh");  // four scores share a reciprocal
    case ExprOp::sigmoid:
      return counted_cost("sigmoid");
    case ExprOp::sqrt:
      return counted_cost("sqrt");
    case ExprOp::divide:
      return divides_by_constant(expression, node) ? ElementCost{1, 0, 0} : cost_of_division();
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
ElementCost cost_of_nodes(const Expression& expression, const std::vector<bool>& counted, const GpuSpec& gpu) {
  ElementCost sum;
  const std::vector<bool> linear = linear_nodes(expression), multiples = multiples_of_score(expression);
  std::vector<bool> is_free(expression.nodes.size(), false);  // part of another node's instructions
  for (const ExprNode& node : expression.nodes)
    if (node.op == ExprOp::tanh || node.op == ExprOp::sigmoid)
      for (std::int32_t n = node.args[0]; multiples[static_cast<std::size_t>(n)];) {
        const ExprNode& part = expression.nodes[static_cast<std::size_t>(n)];
        if (part.op == ExprOp::name) break;
        is_free[static_cast<std::size_t>(n)] = true;
        n = part.args[multiples[static_cast<std::size_t>(part.args[0])] ? 0 : 1];
      }
  const auto add = [&](const ElementCost& one) {
    sum.fp32 += one.fp32;
    sum.alu += one.alu;
    sum.special += one.special;
    sum.in_calls += one.in_calls;
  };
  for (const std::vector<std::int32_t>& group : sines_together(expression)) {
    bool is_counted = false;
    for (const std::int32_t n : group) {
      is_counted = is_counted || counted[static_cast<std::size_t>(n)];
      is_free[static_cast<std::size_t>(n)] = true;
    }
    if (is_counted) add(cost_of_sines(group.size(), gpu));
  }
  for (std::size_t n = 0; n < expression.nodes.size(); ++n)
    if (const ExprNode& node = expression.nodes[n]; counted[n] && !is_free[n] && is_of_element(node))
      add(cost_of(expression, node, linear[n]));
  return sum;
}

}  // namespace

bool is_of_element(const ExprNode& node) {
  const bool of_both = (node.dependence & depends_on_q) != 0 && (node.dependence & depends_on_kv) != 0;
  return node.operands > 0 && (of_both || (node.dependence & depends_on_score) != 0);
}

bool divides_by_constant(const Expression& expression, const ExprNode& node) {
  return node.op == ExprOp::divide && operand_of(expression, node, 1).dependence == 0;
}

std::vector<std::vector<std::int32_t>> sines_together(const Expression& expression) {
  constexpr std::size_t most_together = 4;
  std::map<std::pair<ExprOp, int>, std::vector<std::int32_t>> of_depth;  // depth: most of them from a leaf to the node
  std::vector<int> depths;
  for (const ExprNode& node : expression.nodes) {
    const bool is_sine = (node.op == ExprOp::sin || node.op == ExprOp::cos) && is_of_element(node);
    int inner = 0;
    for (std::size_t a = 0; a < node.operands; ++a) inner = std::max(inner, depths[static_cast<std::size_t>(node.args[a])]);
    depths.push_back(inner + (is_sine ? 1 : 0));
    if (is_sine) of_depth[{node.op, depths.back()}].push_back(static_cast<std::int32_t>(depths.size()) - 1);
  }
  std::vector<std::vector<std::int32_t>> groups;
  for (const auto& [operation, nodes] : of_depth)
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (n % most_together == 0) groups.emplace_back();
      groups.back().push_back(nodes[n]);
    }
  return groups;
}

ElementCost element_cost(const Expression& expression, const GpuSpec& gpu, bool is_forward) {
  ElementCost cost = cost_of_nodes(expression, std::vector<bool>(expression.nodes.size(), true), gpu);
  const ExprNode& root = expression.nodes.back();
  // The scale of the softmax has the factor: one multiply-add less. A negative factor, which it cannot have, counts so too.
  if (is_forward && (root.op == ExprOp::tanh || is_constant_times_tanh(expression, root))) cost.fp32 -= softcap_saving();
  return cost;
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

ElementCost slope_cost(const Expression& slope, const Expression& expression, const GpuSpec& gpu) {
  return cost_of_nodes(slope, nodes_beyond(slope, expression), gpu);
}

}  // namespace tilescope
