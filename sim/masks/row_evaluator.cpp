// The loops over keys.
#include "sim/masks/row_evaluator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sim/masks/evaluate.h"

namespace tilescope {

namespace {

template <class Out, class A, class F>
void each(Out* out, const A* a, std::size_t count, F f) {
  for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i]);
}
template <class Out, class A, class B, class F>
void each(Out* out, const A* a, const B* b, std::size_t count, F f) {
  for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
}

std::uint32_t bits(std::int32_t value) {
  return static_cast<std::uint32_t>(value);
}
std::int32_t number(std::uint32_t value) {
  return static_cast<std::int32_t>(value);
}

template <class T>
void compare(ExprOp op, std::int32_t* out, const T* a, const T* b, std::size_t count) {
  switch (op) {
    case ExprOp::equal:
      return each(out, a, b, count, [](T x, T y) { return x == y ? 1 : 0; });
    case ExprOp::not_equal:
      return each(out, a, b, count, [](T x, T y) { return x != y ? 1 : 0; });
    case ExprOp::less:
      return each(out, a, b, count, [](T x, T y) { return x < y ? 1 : 0; });
    case ExprOp::less_equal:
      return each(out, a, b, count, [](T x, T y) { return x <= y ? 1 : 0; });
    case ExprOp::greater:
      return each(out, a, b, count, [](T x, T y) { return x > y ? 1 : 0; });
    default:
      return each(out, a, b, count, [](T x, T y) { return x >= y ? 1 : 0; });
  }
}

/// x // y or x % y for y other than 0, without the overflow of the least int by -1.
std::int32_t quotient(std::int32_t x, std::int32_t y) {
  if (y == -1) return number(0U - bits(x));
  const std::int32_t down = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? down - 1 : down;
}
std::int32_t remainder(std::int32_t x, std::int32_t y) {
  if (y == -1) return 0;
  const std::int32_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

}  // namespace

RowEvaluator::RowEvaluator(const Expression& expression)
    : expression_(&expression),
      stage_of_(expression.nodes.size()),
      integers_(expression.nodes.size() * most_keys),
      reals_(expression.nodes.size() * most_keys) {
  for (std::size_t n = 0; n < expression.nodes.size(); ++n) {
    const std::uint8_t on = expression.nodes[n].dependence;
    const bool keys = (on & (depends_on_kv | depends_on_score)) != 0, queries = (on & (depends_on_q | depends_on_score)) != 0;
    stage_of_[n] = keys ? (queries ? per_element : per_keys) : queries ? per_query : once;
    stages_[stage_of_[n]].push_back(static_cast<std::int32_t>(n));
  }
}

void RowEvaluator::run(Stage stage, std::size_t count) {
  const bool one = stage == once || stage == per_query;
  for (const std::int32_t at : stages_[stage]) {
    const auto n = static_cast<std::size_t>(at);
    const ExprNode& node = expression_->nodes[n];
    compute(node, n, one ? 1 : count);
    if (!one) continue;
    if (node.type == ValueType::real)
      std::fill_n(reals(n), count, *reals(n));
    else
      std::fill_n(integers(n), count, *integers(n));
  }
}

void RowEvaluator::set_plane(std::int64_t b, std::int64_t h) {
  b_ = b;
  h_ = h;
  suspect_ = false;
  run(once, most_keys);
  suspect_plane_ = suspect_;
}

void RowEvaluator::set_keys(std::int64_t first, std::int64_t count) {
  first_ = first;
  count_ = static_cast<std::size_t>(count);
  suspect_ = false;
  run(per_keys, count_);
  suspect_keys_ = suspect_;
}

bool RowEvaluator::row(std::int64_t q) {
  q_ = q;
  suspect_ = suspect_plane_ || suspect_keys_;
  run(per_query, count_);
  run(per_element, count_);
  return !suspect_;
}

std::span<const std::int32_t> RowEvaluator::conditions(std::int64_t q) {
  if (!row(q)) return {};
  return {integers(expression_->nodes.size() - 1), count_};
}

std::span<const float> RowEvaluator::scores(std::int64_t q, std::span<const float> scores) {
  scores_ = scores;
  if (!row(q)) return {};
  return {reals(expression_->nodes.size() - 1), count_};
}

void RowEvaluator::compute(const ExprNode& node, std::size_t n, std::size_t count) {
  switch (node.op) {
    case ExprOp::constant:
      if (node.type == ValueType::real)
        std::fill_n(reals(n), count, static_cast<float>(node.real));
      else
        std::fill_n(integers(n), count, node.integer);
      return;
    case ExprOp::name:
      switch (node.name) {
        case ExprName::kv:
          for (std::size_t i = 0; i < count; ++i) integers(n)[i] = static_cast<std::int32_t>(first_) + static_cast<std::int32_t>(i);
          return;
        case ExprName::score:
          std::copy_n(scores_.begin(), count, reals(n));
          return;
        default: {
          const ExprInputs<float> inputs{&expression_->sizes, &expression_->tables, {b_, h_, q_, 0}, 0};
          const ExprValue<float> value = evaluate_node<float>(node, {}, inputs);
          std::fill_n(integers(n), count, value.integer);
          std::fill_n(reals(n), count, value.real);
          return;
        }
      }
    case ExprOp::element:
      return compute_element(node, n, count);
    case ExprOp::select: {
      const std::int32_t* condition = integer_arg(node, 0);
      if (node.type == ValueType::real) {
        const float *yes = real_arg(node, 1), *no = real_arg(node, 2);
        for (std::size_t i = 0; i < count; ++i) reals(n)[i] = condition[i] != 0 ? yes[i] : no[i];
      } else {
        const std::int32_t *yes = integer_arg(node, 1), *no = integer_arg(node, 2);
        for (std::size_t i = 0; i < count; ++i) integers(n)[i] = condition[i] != 0 ? yes[i] : no[i];
      }
      return;
    }
    default:
      if (node.type == ValueType::real)
        compute_reals(node, reals(n), count);
      else
        compute_integers(node, integers(n), count);
  }
}

void RowEvaluator::compute_element(const ExprNode& node, std::size_t n, std::size_t count) {
  const CapturedTable& table = *expression_->tables[static_cast<std::size_t>(node.integer)];
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < node.operands; ++axis) {
      std::int64_t index = integer_arg(node, axis)[i];
      if (index < 0 || index >= table.shape[axis]) suspect_ = true, index = 0;
      at = at * table.shape[axis] + index;
    }
    if (table.type == ValueType::real)
      reals(n)[i] = table.reals[static_cast<std::size_t>(at)];
    else
      integers(n)[i] = table.integers[static_cast<std::size_t>(at)];
  }
}

void RowEvaluator::compute_reals(const ExprNode& node, float* out, std::size_t count) {
  if (node.op == ExprOp::to_real)
    return each(out, integer_arg(node, 0), count, [](std::int32_t x) { return static_cast<float>(x); });
  const float* a = real_arg(node, 0);
  if (node.operands == 1) {
    if (node.op == ExprOp::negate) return each(out, a, count, [](float x) { return -x; });
    if (node.op == ExprOp::absolute) return each(out, a, count, [](float x) { return std::fabs(x); });
    return each(out, a, count, [op = node.op](float x) { return apply_function(op, x); });
  }
  const float* b = real_arg(node, 1);
  switch (node.op) {
    case ExprOp::add:
      return each(out, a, b, count, [](float x, float y) { return x + y; });
    case ExprOp::subtract:
      return each(out, a, b, count, [](float x, float y) { return x - y; });
    case ExprOp::multiply:
      return each(out, a, b, count, [](float x, float y) { return x * y; });
    case ExprOp::divide:
      return each(out, a, b, count, [](float x, float y) { return x / y; });
    case ExprOp::minimum:
      return each(out, a, b, count, [](float x, float y) { return x < y || y != y ? x : y; });
    default:
      return each(out, a, b, count, [](float x, float y) { return x > y || y != y ? x : y; });
  }
}

void RowEvaluator::compute_integers(const ExprNode& node, std::int32_t* out, std::size_t count) {
  if (node.op == ExprOp::to_integer)
    return each(out, real_arg(node, 0), count, [](float x) {
      if (!(x == x)) return 0;
      if (x >= 2147483648.0F) return std::numeric_limits<std::int32_t>::max();
      return x <= -2147483648.0F ? std::numeric_limits<std::int32_t>::min() : static_cast<std::int32_t>(x);
    });
  if (node.op >= ExprOp::equal && node.op <= ExprOp::greater_equal) {
    if (node.compares == ValueType::real) return compare(node.op, out, real_arg(node, 0), real_arg(node, 1), count);
    return compare(node.op, out, integer_arg(node, 0), integer_arg(node, 1), count);
  }
  const std::int32_t* a = integer_arg(node, 0);
  switch (node.op) {
    case ExprOp::negate:
      return each(out, a, count, [](std::int32_t x) { return number(0U - bits(x)); });
    case ExprOp::bit_not:
      return each(out, a, count, [](std::int32_t x) { return ~x; });
    case ExprOp::logical_not:
      return each(out, a, count, [](std::int32_t x) { return x ^ 1; });
    case ExprOp::absolute:
      return each(out, a, count, [](std::int32_t x) { return x < 0 ? number(0U - bits(x)) : x; });
    default:
      break;
  }
  const std::int32_t* b = integer_arg(node, 1);
  switch (node.op) {
    case ExprOp::logical_and:
    case ExprOp::bit_and:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return x & y; });
    case ExprOp::logical_or:
    case ExprOp::bit_or:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return x | y; });
    case ExprOp::bit_xor:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return x ^ y; });
    case ExprOp::add:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return number(bits(x) + bits(y)); });
    case ExprOp::subtract:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return number(bits(x) - bits(y)); });
    case ExprOp::multiply:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return number(bits(x) * bits(y)); });
    case ExprOp::minimum:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return x < y ? x : y; });
    case ExprOp::maximum:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return x > y ? x : y; });
    case ExprOp::shift_left:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return bits(y) > 31 ? 0 : number(bits(x) << bits(y)); });
    case ExprOp::shift_right:
      return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return x >> std::min(bits(y), 31U); });
    default:
      break;
  }
  for (std::size_t i = 0; i < count; ++i) suspect_ = suspect_ || b[i] == 0;
  const bool divides = node.op == ExprOp::floor_divide;
  const bool one_divisor = stage_of_[static_cast<std::size_t>(node.args[1])] == once;
  if (const std::int32_t by = b[0]; one_divisor && by > 0 && (by & (by - 1)) == 0) {
    const int shift = std::countr_zero(bits(by));
    if (divides) return each(out, a, count, [=](std::int32_t x) { return x >> shift; });
    return each(out, a, count, [=](std::int32_t x) { return x & (by - 1); });
  }
  if (divides) return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return y == 0 ? 0 : quotient(x, y); });
  return each(out, a, b, count, [](std::int32_t x, std::int32_t y) { return y == 0 ? 0 : remainder(x, y); });
}

}  // namespace tilescope
