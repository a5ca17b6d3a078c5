// Goes through the nodes once: operands come before what uses them.
#include "sim/masks/kernel_parts.h"

#include <algorithm>

namespace tilescope {

namespace {

constexpr std::int64_t no_bound = std::int64_t{1} << 40;

/// Roughly how many instructions a node takes.
int cost_of(const ExprNode& node) {
  switch (node.op) {
    case ExprOp::constant:
    case ExprOp::name:
      return 0;
    case ExprOp::divide:
    case ExprOp::floor_divide:
    case ExprOp::modulo:
    case ExprOp::exp:
    case ExprOp::exp2:
    case ExprOp::log:
    case ExprOp::tanh:
    case ExprOp::sqrt:
    case ExprOp::sigmoid:
    case ExprOp::sin:
    case ExprOp::cos:
    case ExprOp::element:
      return 8;
    default:
      return 1;
  }
}

}  // namespace

KernelParts::KernelParts(const Expression& expression) : e_(expression), values_(expression.nodes.size()) {
  for (const ExprNode& node : e_.nodes) {
    const auto any = [&](const auto& of) {
      for (std::size_t a = 0; a < node.operands; ++a)
        if (of[index(node.args[a])]) return true;
      return false;
    };
    reads_.push_back(node.op == ExprOp::element || any(reads_));
    levels_.push_back(level_of(node, reads_.back()));
    bounds_.push_back(bound_of(node));
  }
  for (std::size_t i = 0; i < e_.nodes.size(); ++i)
    if (levels_[i] == KernelLevel::constant)
      values_[i] = evaluate_node<float>(e_.nodes[i], values_, {&e_.sizes, &e_.tables, {}, 0});
}

KernelLevel KernelParts::level_of(const ExprNode& node, bool reads) const {
  const bool q = (node.dependence & depends_on_q) != 0, kv = (node.dependence & depends_on_kv) != 0;
  if ((node.dependence & depends_on_score) != 0 || (q && kv)) return KernelLevel::element;
  if (q || kv) return q ? KernelLevel::row : KernelLevel::column;
  return (node.dependence & (depends_on_b | depends_on_h)) != 0 || reads ? KernelLevel::uniform : KernelLevel::constant;
}

std::int64_t KernelParts::size_of(ExprName name) const {
  const ExprSizes& s = e_.sizes;
  switch (name) {
    case ExprName::b:
    case ExprName::B:
      return s.batch;
    case ExprName::h:
    case ExprName::H:
      return s.heads;
    case ExprName::HKV:
      return s.kv_heads;
    case ExprName::q:
    case ExprName::N:
      return s.seq_q + 128;  // rows beyond the end are computed too
    case ExprName::kv:
    case ExprName::NK:
      return s.seq_kv + 128;
    case ExprName::D:
      return s.head_dim;
    default:
      return no_bound;
  }
}

std::int64_t KernelParts::bound_of(const ExprNode& node) const {
  const auto arg = [&](std::size_t i) { return bounds_[index(node.args[i])]; };
  const auto cut = [](std::int64_t value) { return std::min(value, no_bound); };
  if (node.type == ValueType::boolean) return 1;
  if (node.type != ValueType::integer) return no_bound;
  switch (node.op) {
    case ExprOp::constant:
      return std::abs(static_cast<std::int64_t>(node.integer));
    case ExprOp::name:
      return size_of(node.name);
    case ExprOp::negate:
    case ExprOp::absolute:
      return arg(0);
    case ExprOp::add:
    case ExprOp::subtract:
      return cut(arg(0) + arg(1));
    case ExprOp::multiply:
      return arg(0) < (std::int64_t{1} << 22) && arg(1) < (std::int64_t{1} << 22) ? cut(arg(0) * arg(1)) : no_bound;
    case ExprOp::floor_divide:
      return cut(arg(0) + 1);
    case ExprOp::modulo:
      return arg(1);
    case ExprOp::minimum:
    case ExprOp::maximum:
      return std::max(arg(0), arg(1));
    case ExprOp::select:
      return std::max(arg(1), arg(2));
    case ExprOp::element: {
      const CapturedTable& table = *e_.tables[static_cast<std::size_t>(node.integer)];
      std::int64_t most = 0;
      for (const std::int32_t value : table.integers) most = std::max(most, std::abs(static_cast<std::int64_t>(value)));
      return most;
    }
    default:
      return no_bound;
  }
}

int KernelParts::cost(Node n, std::set<Node>& seen) const {
  if (!seen.insert(n).second || level(n) == KernelLevel::constant) return 0;
  int sum = cost_of(node(n));
  for (std::size_t a = 0; a < node(n).operands; ++a) sum += cost(node(n).args[a], seen);
  return sum;
}

bool KernelParts::is_kept(Node n) const {
  if (level(n) == KernelLevel::constant || node(n).op == ExprOp::name) return false;
  std::set<Node> seen;
  return reads_[index(n)] || cost(n, seen) >= (level(n) == KernelLevel::column ? 2 : 4);
}

bool KernelParts::add_parts(Node n, int sign, Linear& sum) const {
  const ExprNode& own = node(n);
  if (own.type != ValueType::integer || bounds_[index(n)] >= safe_int) return false;
  if (level(n) == KernelLevel::element) {
    if (own.op == ExprOp::negate) return add_parts(own.args[0], -sign, sum);
    if (own.op != ExprOp::add && own.op != ExprOp::subtract) return false;
    return add_parts(own.args[0], sign, sum) && add_parts(own.args[1], own.op == ExprOp::add ? sign : -sign, sum);
  }
  sum.bound += bounds_[index(n)];
  if (own.op == ExprOp::name && own.name == ExprName::kv)
    sum.keys += sign;
  else
    sum.parts.push_back({sign, n});
  return true;
}

std::optional<KernelParts::Linear> KernelParts::linear(Node n) const {
  Linear sum;
  if (level(n) != KernelLevel::element || !add_parts(n, 1, sum) || sum.bound >= safe_int) return std::nullopt;
  return sum;
}

}  // namespace tilescope
