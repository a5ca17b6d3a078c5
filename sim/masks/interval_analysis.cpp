// Intervals and affine forms, node by node.
#include "sim/masks/interval_analysis.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/masks/evaluate.h"

namespace tilescope {

namespace {

constexpr std::int64_t least_int32 = std::numeric_limits<std::int32_t>::min(),
                       most_int32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t largest_factor = std::int64_t{1} << 29, largest_constant = std::int64_t{1} << 60;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t most_rows_of_box = 128;  // of a table, that are looked at one by one

std::int64_t floor_of_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

template <class T, class F>
std::vector<T> tree_of(const std::vector<T>& leaves, F better) {
  std::vector<T> tree(leaves.size() * 2);
  std::copy(leaves.begin(), leaves.end(), tree.begin() + static_cast<std::ptrdiff_t>(leaves.size()));
  for (std::size_t n = leaves.size(); n-- > 1;) tree[n] = better(tree[2 * n], tree[2 * n + 1]);
  return tree;
}

template <class T>
TableRanges::Range range_in(const std::vector<T>& low, const std::vector<T>& high, std::int64_t count, std::int64_t first,
                            std::int64_t last) {
  auto l = static_cast<std::size_t>(first + count), r = static_cast<std::size_t>(last + count + 1);
  T least = low[l], most = high[l];
  for (; l < r; l /= 2, r /= 2) {
    if ((l & 1U) != 0) least = std::min(least, low[l]), most = std::max(most, high[l]), ++l;
    if ((r & 1U) != 0) --r, least = std::min(least, low[r]), most = std::max(most, high[r]);
  }
  return {static_cast<double>(least), static_cast<double>(most)};
}

struct RealRange {
  float low, high;
  bool can_be_nan;
};

/// Everything, also NaN.
constexpr RealRange any_real = {-infinity, infinity, true};

RealRange sum(const RealRange& a, const RealRange& b) {
  if ((a.low == -infinity && b.high == infinity) || (a.high == infinity && b.low == -infinity)) return any_real;
  return {a.low + b.low, a.high + b.high, a.can_be_nan || b.can_be_nan};
}

bool holds_zero(const RealRange& a) {
  return a.low <= 0 && a.high >= 0;
}
bool holds_infinity(const RealRange& a) {
  return a.low == -infinity || a.high == infinity;
}

template <class F>
RealRange of_corners(const RealRange& a, const RealRange& b, F f) {
  const auto [low, high] = std::minmax({f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)});
  return {low, high, a.can_be_nan || b.can_be_nan};
}

RealRange product(const RealRange& a, const RealRange& b) {
  if ((holds_zero(a) && holds_infinity(b)) || (holds_infinity(a) && holds_zero(b))) return any_real;
  return of_corners(a, b, [](float x, float y) { return x * y; });
}
RealRange ratio(const RealRange& a, const RealRange& b) {
  if (holds_zero(b) || (holds_infinity(a) && holds_infinity(b))) return any_real;
  return of_corners(a, b, [](float x, float y) { return x / y; });
}

/// The smaller of two, which is the number where the other one is NaN.
RealRange smaller(const RealRange& a, const RealRange& b) {
  RealRange both = {std::min(a.low, b.low), std::min(a.high, b.high), a.can_be_nan && b.can_be_nan};
  if (a.can_be_nan) both.high = std::max(both.high, b.high);
  if (b.can_be_nan) both.high = std::max(both.high, a.high);
  return both;
}
RealRange negated(const RealRange& a) {
  return {-a.high, -a.low, a.can_be_nan};
}

RealRange magnitude(const RealRange& a) {
  if (a.low >= 0) return a;
  if (a.high <= 0) return negated(a);
  return {0, std::max(-a.low, a.high), a.can_be_nan};
}

RealRange function_range(ExprOp op, const RealRange& a) {
  if (a.low == a.high && !a.can_be_nan) {
    const float value = apply_function(op, a.low);
    if (value != value) return any_real;
    return {value, value, false};
  }
  if (op == ExprOp::sin || op == ExprOp::cos) return {-1, 1, a.can_be_nan || holds_infinity(a)};
  RealRange range = a;
  if (op == ExprOp::log || op == ExprOp::sqrt) {
    if (a.high < 0) return any_real;
    range.can_be_nan = a.can_be_nan || a.low < 0;
    range.low = std::max(a.low, 0.0F);
  }
  // All of these rise. The library may be off by a rounding, so the ends give way by one.
  range.low = apply_function(op, range.low);
  range.high = apply_function(op, range.high);
  if (op != ExprOp::floor) {
    range.low = std::nextafter(range.low, -infinity);
    range.high = std::nextafter(range.high, infinity);
  }
  return range;
}

}  // namespace

TableRanges::TableRanges(const CapturedTable& table) : count_(table.elements()) {
  const auto less = [](auto a, auto b) { return std::min(a, b); };
  const auto more = [](auto a, auto b) { return std::max(a, b); };
  if (table.type == ValueType::real) {
    low_reals_ = tree_of(table.reals, less);
    high_reals_ = tree_of(table.reals, more);
  } else {
    low_integers_ = tree_of(table.integers, less);
    high_integers_ = tree_of(table.integers, more);
  }
}

TableRanges::Range TableRanges::between(std::int64_t first, std::int64_t last) const {
  if (low_integers_.empty()) return range_in(low_reals_, high_reals_, count_, first, last);
  return range_in(low_integers_, high_integers_, count_, first, last);
}

TableRangesList ranges_of(const TableList& tables) {
  TableRangesList ranges;
  for (const auto& table : tables) ranges.push_back(std::make_shared<const TableRanges>(*table));
  return ranges;
}

IntervalAnalysis::IntervalAnalysis(const Expression& expression, TableRangesList ranges)
    : expression_(&expression), ranges_(std::move(ranges)), intervals_(expression.nodes.size()) {
  for (std::size_t n = 0; n < expression.nodes.size(); ++n) {
    const std::uint8_t on = expression.nodes[n].dependence;
    const bool queries = (on & depends_on_q) != 0, keys = (on & depends_on_kv) != 0;
    if (queries || keys)
      varying_.push_back({static_cast<std::int32_t>(n), queries, keys});
    else
      once_.push_back(static_cast<std::int32_t>(n));
  }
  // The left operands of the root's chain of "and": what comes after them in the list belongs to the right ones.
  std::int32_t at = expression.root();
  while (expression.nodes[static_cast<std::size_t>(at)].op == ExprOp::logical_and) {
    at = expression.nodes[static_cast<std::size_t>(at)].args[0];
    for (Varying& varying : varying_) varying.ends_condition = varying.ends_condition || varying.node == at;
  }
}

void IntervalAnalysis::set_plane(std::int64_t b, std::int64_t h) {
  b_ = b;
  h_ = h;
  first_query_ = last_query_ = first_key_ = last_key_ = -1;
  for (const std::int32_t n : once_)
    intervals_[static_cast<std::size_t>(n)] = interval_of(expression_->nodes[static_cast<std::size_t>(n)]);
}

IntervalAnalysis::Verdict IntervalAnalysis::operator()(TileRange queries, TileRange keys) {
  if (queries.first != first_query_ || queries.end() - 1 != last_query_) {
    first_query_ = queries.first;
    last_query_ = queries.end() - 1;
    ++query_ranges_;
  }
  if (keys.first != first_key_ || keys.end() - 1 != last_key_) {
    first_key_ = keys.first;
    last_key_ = keys.end() - 1;
    ++key_ranges_;
  }
  for (Varying& varying : varying_) {
    Interval& interval = intervals_[static_cast<std::size_t>(varying.node)];
    const bool both = varying.by_query == varying.by_key;
    const std::uint64_t range = varying.by_query ? query_ranges_ : key_ranges_;
    if (both || varying.known_for != range) {
      interval = interval_of(expression_->nodes[static_cast<std::size_t>(varying.node)]);
      varying.known_for = range;
    }
    if (varying.ends_condition && interval.high == 0 && interval.can_fault == 0) return {false, true, false};
  }
  const Interval& root = intervals_.back();
  return {root.high != 0, root.low == 0, root.can_fault != 0};
}

IntervalAnalysis::IntegerRange IntervalAnalysis::integer() const {
  const Interval& root = intervals_.back();
  return {root.low, root.high, root.per_query, root.per_key, root.constant, root.affine != 0};
}

IntervalAnalysis::Interval IntervalAnalysis::affine(std::int64_t per_query, std::int64_t per_key, std::int64_t constant) const {
  Interval made;
  const auto small = [](std::int64_t value, std::int64_t limit) { return value >= -limit && value <= limit; };
  if (small(per_query, largest_factor) && small(per_key, largest_factor) && small(constant, largest_constant)) {
    made.low = constant + std::min(per_query * first_query_, per_query * last_query_) +
               std::min(per_key * first_key_, per_key * last_key_);
    made.high = constant + std::max(per_query * first_query_, per_query * last_query_) +
                std::max(per_key * first_key_, per_key * last_key_);
    if (made.low >= least_int32 && made.high <= most_int32) {
      made.affine = 1;
      made.per_query = per_query;
      made.per_key = per_key;
      made.constant = constant;
      return made;
    }
  }
  made.low = least_int32;  // it may wrap
  made.high = most_int32;
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::name_of(const ExprNode& node) const {
  Interval made;
  switch (node.name) {
    case ExprName::q:
      return affine(1, 0, 0);
    case ExprName::kv:
      return affine(0, 1, 0);
    case ExprName::score:
      made.real_low = -infinity;
      made.real_high = infinity;
      made.can_be_nan = 1;
      return made;
    default:
      break;
  }
  const ExprInputs<float> inputs{&expression_->sizes, &expression_->tables, {b_, h_, 0, 0}, 0};
  const ExprValue<float> value = evaluate_node<float>(node, {}, inputs);
  made = affine(0, 0, value.integer);
  made.real_low = made.real_high = value.real;
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::element_of(const ExprNode& node) const {
  const CapturedTable& table = *expression_->tables[static_cast<std::size_t>(node.integer)];
  const TableRanges& ranges = *ranges_[static_cast<std::size_t>(node.integer)];
  Interval made;
  std::array<std::int64_t, CapturedTable::most_dimensions> low{}, high{};
  for (std::size_t axis = 0; axis < node.operands; ++axis) {
    const Interval& index = arg(node, axis);
    made.can_fault |= index.can_fault | static_cast<std::uint32_t>(index.low < 0 || index.high >= table.shape[axis]);
    low[axis] = std::clamp<std::int64_t>(index.low, 0, table.shape[axis] - 1);
    high[axis] = std::clamp<std::int64_t>(index.high, 0, table.shape[axis] - 1);
  }
  // Runs of the last axis, one for each tuple of the others; where these are many, one run over all of them.
  const std::size_t last = node.operands - std::size_t{1};
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < last; ++axis) rows = std::min(rows * (high[axis] - low[axis] + 1), most_rows_of_box + 1);
  const auto offset = [&](const std::array<std::int64_t, CapturedTable::most_dimensions>& at) {
    std::int64_t sum = 0;
    for (std::size_t axis = 0; axis <= last; ++axis) sum = sum * table.shape[axis] + at[axis];
    return sum;
  };
  TableRanges::Range found;
  if (rows > most_rows_of_box) {
    found = ranges.between(offset(low), offset(high));
  } else {
    found = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    std::array<std::int64_t, CapturedTable::most_dimensions> at = low;
    for (;;) {
      at[last] = low[last];
      const std::int64_t first = offset(at);
      const TableRanges::Range run = ranges.between(first, first + high[last] - low[last]);
      found = {std::min(found.low, run.low), std::max(found.high, run.high)};
      std::size_t axis = last;
      while (axis > 0 && at[axis - 1] == high[axis - 1]) --axis, at[axis] = low[axis];
      if (axis == 0) break;
      ++at[axis - 1];
    }
  }
  const std::uint32_t fault = made.can_fault;
  if (table.type == ValueType::real) {
    made.real_low = static_cast<float>(found.low);
    made.real_high = static_cast<float>(found.high);
    return made;
  }
  if (found.low == found.high) {
    made = affine(0, 0, static_cast<std::int64_t>(found.low));
    made.can_fault = fault;
    return made;
  }
  made.low = static_cast<std::int64_t>(found.low);
  made.high = static_cast<std::int64_t>(found.high);
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::comparison_of(const ExprNode& node, const Interval& a, const Interval& b) const {
  bool always = false, never = false;
  if (node.compares == ValueType::real) {
    const bool numbers = (a.can_be_nan | b.can_be_nan) == 0;
    const bool same = numbers && a.real_low == a.real_high && b.real_low == b.real_high && a.real_low == b.real_low;
    const bool apart = a.real_high < b.real_low || b.real_high < a.real_low;
    switch (node.op) {  // NaN makes every comparison fail but "not equal"
      case ExprOp::equal:
        always = same, never = apart;
        break;
      case ExprOp::not_equal:
        always = apart, never = same;
        break;
      case ExprOp::less:
        always = numbers && a.real_high < b.real_low, never = a.real_low >= b.real_high;
        break;
      case ExprOp::less_equal:
        always = numbers && a.real_high <= b.real_low, never = a.real_low > b.real_high;
        break;
      case ExprOp::greater:
        always = numbers && a.real_low > b.real_high, never = a.real_high <= b.real_low;
        break;
      default:
        always = numbers && a.real_low >= b.real_high, never = a.real_high < b.real_low;
        break;
    }
  } else {
    // The difference of affine forms is exact; that of ranges is not where both sides grow together.
    std::int64_t low = a.low - b.high, high = a.high - b.low;
    if ((a.affine & b.affine) != 0) {
      const std::int64_t per_query = a.per_query - b.per_query, per_key = a.per_key - b.per_key, constant = a.constant - b.constant;
      low = constant + std::min(per_query * first_query_, per_query * last_query_) +
            std::min(per_key * first_key_, per_key * last_key_);
      high = constant + std::max(per_query * first_query_, per_query * last_query_) +
             std::max(per_key * first_key_, per_key * last_key_);
    }
    switch (node.op) {
      case ExprOp::equal:
        always = low == 0 && high == 0, never = low > 0 || high < 0;
        break;
      case ExprOp::not_equal:
        never = low == 0 && high == 0, always = low > 0 || high < 0;
        break;
      case ExprOp::less:
        always = high < 0, never = low >= 0;
        break;
      case ExprOp::less_equal:
        always = high <= 0, never = low > 0;
        break;
      case ExprOp::greater:
        always = low > 0, never = high <= 0;
        break;
      default:
        always = low >= 0, never = high < 0;
        break;
    }
  }
  Interval made;
  made.low = always ? 1 : 0;
  made.high = never ? 0 : 1;
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::integer_of(const ExprNode& node, const Interval& a, const Interval& b) const {
  const auto ranged = [](std::int64_t low, std::int64_t high) {
    Interval made;
    const bool wraps = low < least_int32 || high > most_int32;
    made.low = wraps ? least_int32 : low;
    made.high = wraps ? most_int32 : high;
    return made;
  };
  const bool one_divisor = b.low == b.high;
  switch (node.op) {
    case ExprOp::add:
      if ((a.affine & b.affine) != 0) return affine(a.per_query + b.per_query, a.per_key + b.per_key, a.constant + b.constant);
      return ranged(a.low + b.low, a.high + b.high);
    case ExprOp::subtract:
      if ((a.affine & b.affine) != 0) return affine(a.per_query - b.per_query, a.per_key - b.per_key, a.constant - b.constant);
      return ranged(a.low - b.high, a.high - b.low);
    case ExprOp::multiply: {
      const Interval& point = b.low == b.high ? b : a;
      const Interval& other = b.low == b.high ? a : b;
      // Factors of 2^29 and a point of 2^31 stay within 64 bits.
      if (point.low == point.high && other.affine != 0 && std::abs(other.constant) <= (std::int64_t{1} << 31))
        return affine(other.per_query * point.low, other.per_key * point.low, other.constant * point.low);
      const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      return ranged(low, high);
    }
    case ExprOp::floor_divide: {
      if (b.low <= 0 && b.high >= 0) {
        Interval made = ranged(least_int32, most_int32);
        made.can_fault = 1;
        return made;
      }
      if (one_divisor && a.affine != 0 && a.per_query % b.low == 0 && a.per_key % b.low == 0)
        return affine(a.per_query / b.low, a.per_key / b.low, floor_of_quotient(a.constant, b.low));
      const auto [low, high] = std::minmax({floor_of_quotient(a.low, b.low), floor_of_quotient(a.low, b.high),
                                            floor_of_quotient(a.high, b.low), floor_of_quotient(a.high, b.high)});
      return ranged(low, high);
    }
    case ExprOp::modulo: {
      if (b.low <= 0 && b.high >= 0) {
        Interval made = ranged(least_int32, most_int32);
        made.can_fault = 1;
        return made;
      }
      if (one_divisor) {
        const std::int64_t period = floor_of_quotient(a.low, b.low);
        if (period == floor_of_quotient(a.high, b.low)) {
          if (a.affine != 0) return affine(a.per_query, a.per_key, a.constant - period * b.low);
          return ranged(a.low - period * b.low, a.high - period * b.low);
        }
      }
      return b.low > 0 ? ranged(0, b.high - 1) : ranged(b.low + 1, 0);
    }
    case ExprOp::minimum:
      if (a.high <= b.low) return a;
      if (b.high <= a.low) return b;
      return ranged(std::min(a.low, b.low), std::min(a.high, b.high));
    case ExprOp::maximum:
      if (a.low >= b.high) return a;
      if (b.low >= a.high) return b;
      return ranged(std::max(a.low, b.low), std::max(a.high, b.high));
    case ExprOp::shift_left:
      if (one_divisor && b.low >= 0 && b.low < 31) {
        const std::int64_t factor = std::int64_t{1} << b.low;
        if (a.affine != 0 && std::abs(a.constant) <= (std::int64_t{1} << 29))
          return affine(a.per_query * factor, a.per_key * factor, a.constant * factor);
        return ranged(a.low * factor, a.high * factor);
      }
      return ranged(least_int32, most_int32);
    case ExprOp::shift_right:
      if (one_divisor && b.low >= 0 && b.low < 32) return ranged(a.low >> b.low, a.high >> b.low);
      return a.low >= 0 ? ranged(0, a.high) : ranged(std::min<std::int64_t>(a.low, 0), std::max<std::int64_t>(a.high, 0));
    case ExprOp::bit_and:
      if (a.low == a.high && one_divisor) return affine(0, 0, a.low & b.low);
      // A mask of low bits is a remainder; else the result is below both.
      for (const auto& [x, m] : {std::pair{&a, &b}, std::pair{&b, &a}})
        if (m->low == m->high && m->low >= 0 && (m->low & (m->low + 1)) == 0 &&
            x->low >> std::bit_width(static_cast<std::uint64_t>(m->low)) ==
                x->high >> std::bit_width(static_cast<std::uint64_t>(m->low))) {
          const std::int64_t before = x->low & ~m->low;
          if (x->affine != 0) return affine(x->per_query, x->per_key, x->constant - before);
          return ranged(x->low - before, x->high - before);
        }
      if (a.low >= 0 && b.low >= 0) return ranged(0, std::min(a.high, b.high));
      if (a.low >= 0) return ranged(0, a.high);
      if (b.low >= 0) return ranged(0, b.high);
      return ranged(least_int32, most_int32);
    case ExprOp::bit_or:
    case ExprOp::bit_xor: {
      if (a.low == a.high && one_divisor) return affine(0, 0, node.op == ExprOp::bit_or ? (a.low | b.low) : (a.low ^ b.low));
      if (a.low < 0 || b.low < 0) return ranged(least_int32, most_int32);
      const std::int64_t all_ones = (std::int64_t{1} << std::bit_width(static_cast<std::uint64_t>(std::max(a.high, b.high)))) - 1;
      return ranged(node.op == ExprOp::bit_or ? std::max(a.low, b.low) : 0, all_ones);
    }
    case ExprOp::negate:
      return negative_of(a, 0);
    case ExprOp::bit_not:
      return negative_of(a, 1);
    case ExprOp::absolute:
      return magnitude_of(a);
    default:  // nothing is known of it
      return ranged(least_int32, most_int32);
  }
}

IntervalAnalysis::Interval IntervalAnalysis::negative_of(const Interval& a, std::int64_t less) const {
  if (a.affine != 0) return affine(-a.per_query, -a.per_key, -a.constant - less);
  Interval made;
  made.low = -a.high - less;
  made.high = -a.low - less;
  if (made.high > most_int32) made.low = least_int32, made.high = most_int32;
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::magnitude_of(const Interval& a) const {
  if (a.low >= 0) return a;
  Interval made;
  if (a.high <= 0 && a.low > least_int32) {
    if (a.affine != 0) return affine(-a.per_query, -a.per_key, -a.constant);
    made.low = -a.high, made.high = -a.low;
  } else if (a.low > least_int32) {
    made.high = std::max(-a.low, a.high);
  } else {
    made.low = least_int32, made.high = most_int32;
  }
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::real_of(const ExprNode& node, const Interval& a, const Interval& b) {
  const RealRange x{a.real_low, a.real_high, a.can_be_nan != 0}, y{b.real_low, b.real_high, b.can_be_nan != 0};
  const auto range = [&] {
    switch (node.op) {
      case ExprOp::negate:
        return negated(x);
      case ExprOp::absolute:
        return magnitude(x);
      case ExprOp::add:
        return sum(x, y);
      case ExprOp::subtract:
        return sum(x, negated(y));
      case ExprOp::multiply:
        return product(x, y);
      case ExprOp::divide:
        return ratio(x, y);
      case ExprOp::minimum:
        return smaller(x, y);
      case ExprOp::maximum:
        return negated(smaller(negated(x), negated(y)));
      default:
        return function_range(node.op, x);
    }
  }();
  Interval made;
  made.real_low = range.low;
  made.real_high = range.high;
  made.can_be_nan = range.can_be_nan ? 1 : 0;
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::logic_of(const ExprNode& node, const Interval& a) const {
  Interval made;
  if (node.op == ExprOp::logical_not) {
    made.low = 1 - a.high;
    made.high = 1 - a.low;
    made.can_fault = a.can_fault;
    return made;
  }
  const Interval& b = arg(node, 1);
  const bool is_and = node.op == ExprOp::logical_and;
  made.low = is_and ? a.low & b.low : a.low | b.low;
  made.high = is_and ? a.high & b.high : a.high | b.high;
  // The right operand counts only where the left one does not decide.
  const bool counts = is_and ? a.high != 0 : a.low == 0;
  made.can_fault = a.can_fault | (counts ? b.can_fault : 0);
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::choice_of(const ExprNode& node, const Interval& a) const {
  Interval made;
  const Interval &yes = arg(node, 1), &no = arg(node, 2);
  if (a.low != 0 || a.high == 0) {
    made = a.low != 0 ? yes : no;
    made.can_fault |= a.can_fault;
    return made;
  }
  const bool one =
      yes.affine && no.affine && yes.per_query == no.per_query && yes.per_key == no.per_key && yes.constant == no.constant;
  if (one) made = yes;
  made.low = std::min(yes.low, no.low);
  made.high = std::max(yes.high, no.high);
  made.real_low = std::min(yes.real_low, no.real_low);
  made.real_high = std::max(yes.real_high, no.real_high);
  made.can_be_nan = yes.can_be_nan | no.can_be_nan;
  made.can_fault = a.can_fault | yes.can_fault | no.can_fault;
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::converted(const ExprNode& node, const Interval& a) {
  Interval made;
  made.can_fault = a.can_fault;
  if (node.op == ExprOp::to_real) {
    made.real_low = static_cast<float>(a.low);
    made.real_high = static_cast<float>(a.high);
    return made;
  }
  const auto whole = [](float value) {
    return static_cast<std::int64_t>(
        std::clamp(static_cast<double>(value), static_cast<double>(least_int32), static_cast<double>(most_int32)));
  };
  made.low = whole(a.real_low);
  made.high = whole(a.real_high);
  if (a.can_be_nan != 0) made.low = std::min<std::int64_t>(made.low, 0), made.high = std::max<std::int64_t>(made.high, 0);
  return made;
}

IntervalAnalysis::Interval IntervalAnalysis::interval_of(const ExprNode& node) const {
  switch (node.op) {
    case ExprOp::constant: {
      Interval made = affine(0, 0, node.integer);
      made.real_low = made.real_high = static_cast<float>(node.real);
      return made;
    }
    case ExprOp::name:
      return name_of(node);
    case ExprOp::element:
      return element_of(node);
    case ExprOp::logical_and:
    case ExprOp::logical_or:
    case ExprOp::logical_not:
      return logic_of(node, arg(node, 0));
    case ExprOp::select:
      return choice_of(node, arg(node, 0));
    case ExprOp::to_real:
    case ExprOp::to_integer:
      return converted(node, arg(node, 0));
    default:
      break;
  }
  const Interval& a = arg(node, 0);
  const Interval& b = node.operands > 1 ? arg(node, 1) : a;
  Interval made = node.type == ValueType::boolean ? comparison_of(node, a, b)
                  : node.type == ValueType::real  ? real_of(node, a, b)
                                                  : integer_of(node, a, b);
  made.can_fault |= a.can_fault | b.can_fault;
  return made;
}

}  // namespace tilescope
