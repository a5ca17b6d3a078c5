// Evaluates expressions, one node after another.
#include "sim/masks/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr std::int64_t least_int = std::numeric_limits<std::int32_t>::min(), most_int = std::numeric_limits<std::int32_t>::max();

std::int32_t wrapped(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

std::int64_t rounded_down(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t shifted_left(std::int64_t value, std::int64_t count) {
  return count < 0 || count > 31 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << count);
}
std::int64_t shifted_right(std::int64_t value, std::int64_t count) {
  return value >> (count < 0 || count > 31 ? 31 : count);
}

template <class Real>
std::int32_t truncated(Real value) {
  if (std::isnan(value)) return 0;
  const double wide = std::clamp(static_cast<double>(value), static_cast<double>(least_int), static_cast<double>(most_int));
  return static_cast<std::int32_t>(wide);
}

std::int64_t integer_result(ExprOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case ExprOp::add:
      return a + b;
    case ExprOp::subtract:
      return a - b;
    case ExprOp::multiply:
      return a * b;
    case ExprOp::floor_divide:
      return rounded_down(a, b);
    case ExprOp::modulo:
      return a - b * rounded_down(a, b);
    case ExprOp::bit_and:
      return a & b;
    case ExprOp::bit_or:
      return a | b;
    case ExprOp::bit_xor:
      return a ^ b;
    case ExprOp::shift_left:
      return shifted_left(a, b);
    case ExprOp::shift_right:
      return shifted_right(a, b);
    case ExprOp::minimum:
      return std::min(a, b);
    case ExprOp::maximum:
      return std::max(a, b);
    default:
      return 0;
  }
}

template <class Real>
Real real_result(ExprOp op, Real a, Real b) {
  switch (op) {
    case ExprOp::add:
      return a + b;
    case ExprOp::subtract:
      return a - b;
    case ExprOp::multiply:
      return a * b;
    case ExprOp::divide:
      return a / b;
    case ExprOp::minimum:  // the number where one is NaN
      return a < b || std::isnan(b) ? a : b;
    case ExprOp::maximum:
      return a > b || std::isnan(b) ? a : b;
    default:
      return 0;
  }
}

template <class T>
bool compared(ExprOp op, T a, T b) {
  switch (op) {
    case ExprOp::equal:
      return a == b;
    case ExprOp::not_equal:
      return a != b;
    case ExprOp::less:
      return a < b;
    case ExprOp::less_equal:
      return a <= b;
    case ExprOp::greater:
      return a > b;
    default:
      return a >= b;
  }
}

template <class Real>
ExprValue<Real> named(ExprName name, const ExprInputs<Real>& in) {
  const auto whole = [](std::int64_t value) { return ExprValue<Real>{wrapped(value), 0, false}; };
  switch (name) {
    case ExprName::score:
      return {0, in.score, false};
    case ExprName::b:
      return whole(in.element.b);
    case ExprName::h:
      return whole(in.element.h);
    case ExprName::q:
      return whole(in.element.q);
    case ExprName::kv:
      return whole(in.element.kv);
    case ExprName::B:
      return whole(in.sizes->batch);
    case ExprName::H:
      return whole(in.sizes->heads);
    case ExprName::HKV:
      return whole(in.sizes->kv_heads);
    case ExprName::N:
      return whole(in.sizes->seq_q);
    case ExprName::NK:
      return whole(in.sizes->seq_kv);
    case ExprName::D:
      return whole(in.sizes->head_dim);
    case ExprName::scale:
      return {0, static_cast<Real>(1.0 / std::sqrt(static_cast<double>(in.sizes->head_dim))), false};
    case ExprName::inf:
      break;
  }
  return {0, std::numeric_limits<Real>::infinity(), false};
}

template <class Real>
ExprValue<Real> table_element(const ExprNode& node, std::span<const ExprValue<Real>> values, const ExprInputs<Real>& in) {
  const CapturedTable& table = *(*in.tables)[static_cast<std::size_t>(node.integer)];
  std::int64_t at = 0;
  for (std::size_t i = 0; i < node.operands; ++i) {
    const ExprValue<Real>& index = values[static_cast<std::size_t>(node.args[i])];
    if (index.fault || index.integer < 0 || index.integer >= table.shape[i]) return {0, 0, true};
    at = at * table.shape[i] + index.integer;
  }
  if (table.type == ValueType::real) return {0, static_cast<Real>(table.reals[static_cast<std::size_t>(at)]), false};
  return {table.integers[static_cast<std::size_t>(at)], 0, false};
}

}  // namespace

double apply_function(ExprOp op, double x) {
  switch (op) {
    case ExprOp::floor:
      return std::floor(x);
    case ExprOp::exp:
      return std::exp(x);
    case ExprOp::exp2:
      return std::exp2(x);
    case ExprOp::log:
      return std::log(x);
    case ExprOp::tanh:
      return std::tanh(x);
    case ExprOp::sqrt:
      return std::sqrt(x);
    case ExprOp::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ExprOp::sin:
      return std::sin(x);
    case ExprOp::cos:
      return std::cos(x);
    default:
      return x;
  }
}
float apply_function(ExprOp op, float x) {
  return static_cast<float>(apply_function(op, static_cast<double>(x)));
}

template <class Real>
ExprValue<Real> evaluate_node(const ExprNode& node, std::span<const ExprValue<Real>> values, const ExprInputs<Real>& in) {
  const auto arg = [&](std::size_t i) -> const ExprValue<Real>& { return values[static_cast<std::size_t>(node.args[i])]; };
  switch (node.op) {
    case ExprOp::constant:
      return {node.integer, static_cast<Real>(node.real), false};
    case ExprOp::name:
      return named(node.name, in);
    case ExprOp::element:
      return table_element(node, values, in);
    case ExprOp::logical_and:
      if (arg(0).fault || arg(0).integer == 0) return arg(0);
      return arg(1);
    case ExprOp::logical_or:
      if (arg(0).fault || arg(0).integer != 0) return arg(0);
      return arg(1);
    case ExprOp::select:
      if (arg(0).fault) return {0, 0, true};
      return arg(arg(0).integer != 0 ? 1 : 2);
    default:
      break;
  }
  const ExprValue<Real>& a = arg(0);
  if (a.fault) return {0, 0, true};
  switch (node.op) {
    case ExprOp::to_real:
      return {0, static_cast<Real>(a.integer), false};
    case ExprOp::to_integer:
      return {truncated(a.real), 0, false};
    case ExprOp::bit_not:
      return {~a.integer, 0, false};
    case ExprOp::logical_not:
      return {a.integer == 0 ? 1 : 0, 0, false};
    case ExprOp::negate:
      if (node.type == ValueType::real) return {0, -a.real, false};
      return {wrapped(-std::int64_t{a.integer}), 0, false};
    case ExprOp::absolute:
      if (node.type == ValueType::real) return {0, std::fabs(a.real), false};
      return {wrapped(std::abs(std::int64_t{a.integer})), 0, false};
    default:
      break;
  }
  if (node.operands == 1) return {0, apply_function(node.op, a.real), false};
  const ExprValue<Real>& b = arg(1);
  if (b.fault) return {0, 0, true};
  if (node.type == ValueType::real) return {0, real_result(node.op, a.real, b.real), false};
  if (node.type == ValueType::boolean) {
    const bool holds =
        node.compares == ValueType::real ? compared(node.op, a.real, b.real) : compared(node.op, a.integer, b.integer);
    return {holds ? 1 : 0, 0, false};
  }
  if ((node.op == ExprOp::floor_divide || node.op == ExprOp::modulo) && b.integer == 0) return {0, 0, true};
  return {wrapped(integer_result(node.op, a.integer, b.integer)), 0, false};
}

template ExprValue<float> evaluate_node(const ExprNode&, std::span<const ExprValue<float>>, const ExprInputs<float>&);
template ExprValue<double> evaluate_node(const ExprNode&, std::span<const ExprValue<double>>, const ExprInputs<double>&);

template <class Real>
ExpressionEvaluator<Real>::ExpressionEvaluator(const Expression& expression)
    : expression_(&expression), values_(expression.nodes.size()) {
  constexpr int by_element = depends_on_q | depends_on_kv | depends_on_score;
  for (std::size_t n = 0; n < values_.size(); ++n)
    ((expression.nodes[n].dependence & by_element) != 0 ? varying_ : once_).push_back(static_cast<std::int32_t>(n));
}

template <class Real>
const ExprValue<Real>& ExpressionEvaluator<Real>::operator()(const ExprElement& element, Real score) {
  const ExprInputs<Real> inputs{&expression_->sizes, &expression_->tables, element, score};
  const auto run = [&](const std::vector<std::int32_t>& nodes) {
    for (const std::int32_t node : nodes) {
      const auto n = static_cast<std::size_t>(node);
      values_[n] = evaluate_node<Real>(expression_->nodes[n], values_, inputs);
    }
  };
  if (element.b != b_ || element.h != h_) run(once_);
  b_ = element.b;
  h_ = element.h;
  run(varying_);
  return values_.back();
}

template <class Real>
Sentence ExpressionEvaluator<Real>::fault(const ExprElement& element) const {
  const auto value = [&](std::int32_t n) -> const ExprValue<Real>& { return values_[static_cast<std::size_t>(n)]; };
  std::int32_t at = expression_->root();
  if (!value(at).fault) return {};
  // Down to the node that is at fault itself: none of its operands is.
  for (;;) {
    const ExprNode& node = expression_->nodes[static_cast<std::size_t>(at)];
    std::int32_t next = -1;
    // An operand that is not chosen may be at fault too, and does not matter.
    const bool chooses = node.op == ExprOp::select && !value(node.args[0]).fault;
    for (std::size_t i = 0; i < node.operands && next < 0; ++i) {
      if (chooses && i != (value(node.args[0]).integer != 0 ? 1U : 2U)) continue;
      if (value(node.args[i]).fault) next = node.args[i];
    }
    if (next < 0) break;
    at = next;
  }
  const ExprNode& node = expression_->nodes[static_cast<std::size_t>(at)];
  const Sentence where = phrase("at b {}, h {}, q {}, kv {}", element.b, element.h, element.q, element.kv);
  if (node.op != ExprOp::element) return phrase("column {}: division by zero {}", node.column, where);
  const CapturedTable& table = *expression_->tables[static_cast<std::size_t>(node.integer)];
  std::size_t axis = 0;
  while (axis + 1 < node.operands) {
    const std::int32_t index = value(node.args[axis]).integer;
    if (index < 0 || index >= table.shape[axis]) break;
    ++axis;
  }
  const Sentence of = node.operands == 1 ? phrase("index") : phrase("index {}", axis + 1);
  return phrase("column {}: {} of {} is {} {}, but {} has 0 to {} there", node.column, of, table.name,
                value(node.args[axis]).integer, where, table.name, table.shape[axis] - 1);
}

template class ExpressionEvaluator<float>;
template class ExpressionEvaluator<double>;

}  // namespace tilescope
