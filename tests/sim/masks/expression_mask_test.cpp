// Masks from expressions: the analysis against every element, tiles against their elements, lists against tiles.
#include "sim/masks/expression_mask.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/masks/block_mask.h"
#include "sim/masks/evaluate.h"
#include "tests/sim/masks/random_expression.h"

namespace tilescope {
namespace {

AttentionProblem problem_of(const ExprSizes& sizes) {
  AttentionProblem problem;
  problem.batch = sizes.batch;
  problem.heads = sizes.heads;
  problem.kv_heads = sizes.kv_heads;
  problem.seq_q = sizes.seq_q;
  problem.seq_kv = sizes.seq_kv;
  problem.head_dim = sizes.head_dim;
  return problem;
}

std::shared_ptr<const ExpressionMask> mask_from(const std::string& text, const ExprSizes& sizes, const TableList& tables = {}) {
  auto expression = parse_mask_expression(text, sizes, tables);
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  auto mask = ExpressionMask::make(std::move(*expression));
  REQUIRE_MESSAGE(mask, (mask ? std::string() : mask.error().sentence.text()));
  return *mask;
}

TileRange part_of(std::mt19937_64& random, std::int64_t length) {
  const auto first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length));
  return {first, 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length - first))};
}

struct Counted {
  std::int64_t visible = 0, faults = 0;
};
Counted count(ExpressionEvaluator<float>& evaluator, std::int64_t b, std::int64_t h, TileRange queries, TileRange keys) {
  Counted counted;
  for (std::int64_t q = queries.first; q < queries.end(); ++q)
    for (std::int64_t kv = keys.first; kv < keys.end(); ++kv) {
      const ExprValue<float>& value = evaluator({b, h, q, kv});
      counted.faults += value.fault ? 1 : 0;
      counted.visible += !value.fault && value.integer != 0 ? 1 : 0;
    }
  return counted;
}

TileVisibility kind_of(std::int64_t visible, std::int64_t elements) {
  return visible == 0 ? TileVisibility::empty : visible == elements ? TileVisibility::full : TileVisibility::partial;
}

}  // namespace

TEST_CASE("analysis: it is never wrong about a block of a random mask, and neither is a tile") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int decided = 0, blocks = 0;
  for (int round = 0; round < expression_count(3000); ++round) {
    const RandomScope scope = random_scope(random);
    RandomExpression generator(random, false);
    const std::string text = generator.condition(1 + static_cast<int>(random() % 4));
    CAPTURE(text);
    const auto expression = parse_mask_expression(text, scope.sizes, scope.tables);
    if (!expression) continue;
    IntervalAnalysis analysis(*expression, ranges_of(expression->tables));
    ExpressionEvaluator<float> evaluator(*expression);
    const std::int64_t b = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.batch));
    const std::int64_t h = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.heads));
    CAPTURE(b);
    CAPTURE(h);
    analysis.set_plane(b, h);
    for (int block = 0; block < 4; ++block) {
      const TileRange queries = part_of(random, scope.sizes.seq_q), keys = part_of(random, scope.sizes.seq_kv);
      CAPTURE(queries.first);
      CAPTURE(queries.count);
      CAPTURE(keys.first);
      CAPTURE(keys.count);
      const IntervalAnalysis::Verdict verdict = analysis(queries, keys);
      const Counted counted = count(evaluator, b, h, queries, keys);
      const std::int64_t elements = queries.count * keys.count;
      ++blocks;
      if (!verdict.can_fault) {
        REQUIRE(counted.faults == 0);
        if (!verdict.can_hold) REQUIRE(counted.visible == 0);
        if (!verdict.can_fail) REQUIRE(counted.visible == elements);
        decided += !verdict.can_hold || !verdict.can_fail ? 1 : 0;
      }
      REQUIRE((verdict.can_hold || verdict.can_fail));
    }
  }
  MESSAGE("decided ", decided, " of ", blocks, " random blocks");
  CHECK(decided > blocks / 10);
}

TEST_CASE("analysis: it knows the least and the greatest value where each operand is in the expression once") {
  const ExprSizes sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  std::vector<std::int32_t> numbers(64);
  for (int i = 0; i < 64; ++i) numbers[static_cast<std::size_t>(i)] = i * 37 % 64 - 20;
  const auto shaped = [&](std::string name, std::vector<std::int64_t> shape) {
    CapturedTable table = make_table(std::move(name), numbers);
    table.shape = std::move(shape);
    return std::make_shared<const CapturedTable>(std::move(table));
  };
  const TableList tables = {shaped("t", {64}), shaped("u", {8, 8}), shaped("w", {4, 4, 4})};
  struct Row {
    const char* text;
    TileRange queries, keys;
  };
  constexpr TileRange some{8, 8}, more{16, 8}, from_zero{0, 16}, all{0, 64};
  const Row rows[] = {
      // Integers: sums, products, quotients and remainders with every sign.
      {"q + kv", some, more},
      {"q - kv", some, more},
      {"3 * q - 2 * kv + 5", some, more},
      {"-q", some, more},
      {"~q", some, more},
      {"q * kv", some, more},
      {"(q - 12) * kv", some, more},
      {"(q - 12) * (kv - 30)", some, more},
      {"(q - 12) * -7", some, more},
      {"q // 3", some, more},
      {"q // -3", some, more},
      {"(q - 12) // 5", some, more},
      {"(q - 12) // kv", some, more},
      {"kv // q", some, more},
      {"q % 16", some, more},
      {"(q - 40) % 32", some, more},
      {"q % 8", from_zero, more},
      {"q % -8", from_zero, more},
      {"(q - 9) % 5", all, more},
      {"q % kv", all, more},
      {"q % -kv", all, more},
      {"(q - 12) // (kv - 40)", some, more},
      {"(8 * q + kv) // 4", some, more},
      {"abs(q - 12)", some, more},
      {"abs(q - 40)", some, more},
      {"abs(q + kv)", some, more},
      {"min(q, 12)", some, more},
      {"max(q, 12)", some, more},
      {"min(q, kv)", some, more},
      {"max(q, kv)", some, more},
      {"min(q, kv)", all, all},
      {"max(q, kv)", all, all},
      // A part that stays linear cancels against the same part.
      {"(8 * q + 3) // 4 - 2 * q", some, more},
      {"(8 * q + 4 * kv - 3) // 4 - 2 * q - kv", some, more},
      {"(8 * q + 4 * kv) // -4 + 2 * q + kv", some, more},
      {"q % 16 - q", some, more},
      {"(q - 40) % 32 - q", some, more},
      {"(q & 7) - q", some, more},
      {"((q - 40) & 31) - q", some, more},
      {"(q << 2) - 4 * q", some, more},
      {"(q - kv << 3) + 8 * kv - 8 * q", some, more},
      {"-(q - kv) + q - kv", some, more},
      {"~q + q", some, more},
      {"abs(q) - q", some, more},
      {"abs(-q - 1) - q", some, more},
      {"min(q, 40) - q", some, more},
      {"max(3, q) - q", some, more},
      {"(q > kv ? 3 : q) - q", some, more},
      {"(q < kv ? q : 3) - q", some, more},
      {"q * (h + 2) - 2 * q", some, more},
      {"(h - 3) * kv + 3 * kv", some, more},
      {"q + t[h + 1] - q", some, more},
      {"(q + kv) - (kv + q)", some, more},
      // At the ends of 32 bits.
      {"(q - 12) * 536870912", some, more},
      {"q << 28", {0, 8}, more},
      {"q << 29", {0, 4}, more},
      {"(q - 8) + 2147483640", some, more},
      {"t[q] + 2147483604", all, more},
      {"t[q] - 2147483628", all, more},
      {"-(t[q] - 2147483604)", all, more},
      // Bits.
      {"q << 2", some, more},
      {"(q - 12) << 3", some, more},
      {"q >> 2", some, more},
      {"(q - 12) >> 1", some, more},
      {"(q * kv) << 1", some, more},
      {"q & 7", some, more},
      {"q & 7", from_zero, more},
      {"q | 16", from_zero, more},
      {"16 | q", from_zero, more},
      {"q | kv", from_zero, from_zero},
      {"q ^ kv", from_zero, from_zero},
      {"(h + 5) & 12", some, more},
      {"(h + 5) | 12", some, more},
      {"(h + 5) ^ 12", some, more},
      {"(h - 3) | 12", some, more},
      {"(q - 12) & 31", some, more},
      {"31 & (q - 12)", some, more},
      {"(q * kv) & 1023", some, more},
      {"(q * kv - 500) & 1023", some, more},
      {"q & kv", from_zero, from_zero},
      {"q & kv", from_zero, {0, 8}},
      {"q & kv", {0, 8}, from_zero},
      {"(q - 12) & kv", some, {0, 8}},
      {"q | kv", some, some},
      {"(q * kv) << 20", some, more},
      {"(q - 12) >> 31", some, more},
      {"q >> (kv - 16)", some, more},
      {"(q - 12) >> (kv - 16)", some, more},
      // Tables, choices and conversions.
      {"t[q]", some, more},
      {"t[q]", all, more},
      {"t[kv] + q", some, more},
      {"t[q // 2]", some, more},
      {"u[q - 8, kv - 16]", some, more},
      {"u[q // 4, kv - 16]", some, more},
      {"u[q // 4, kv // 8 + 1]", some, more},
      {"u[q - 8, kv // 4]", some, more},
      {"w[q // 4 - 2, kv // 8, 1]", some, more},
      {"w[q // 4, 3, kv // 4 - 4]", some, more},
      {"w[1, q // 4, kv // 8]", some, more},
      {"q < kv ? 3 : t[q]", some, more},
      {"q > kv ? 3 : t[q]", some, more},
      {"q < 12 ? 3 : kv", some, more},
      {"int(q * 0.5)", some, more},
      {"int(q * 0.75 - 10.0)", some, more},
      // Reals, with zeros and infinities of either sign.
      {"q * 0.5", some, more},
      {"q + 0.5 * kv", some, more},
      {"q - 0.5 * kv", some, more},
      {"(q - 12.0) * (kv - 20.0)", some, more},
      {"(q - 8.0) * kv", some, more},
      {"kv * (q - 15.0)", some, more},
      {"kv / (1.0 * q)", some, more},
      {"(q - 12.0) / kv", some, more},
      {"-(q * 0.5)", some, more},
      {"abs(q - 12.0)", some, more},
      {"abs(q - 4.0)", some, more},
      {"abs(q - 40.0)", some, more},
      {"min(q * 1.0, 11.5)", some, more},
      {"max(q * 1.0, 11.5)", some, more},
      {"min(q * 1.0, kv * 1.0)", all, all},
      {"floor(q * 0.3)", some, more},
      {"q < 12 ? 2.5 : kv * 1.0", some, more},
      {"q * inf", some, more},
      {"inf * (q - 40)", some, more},
      {"q + inf", some, more},
      {"inf + q", some, more},
      {"q - inf", some, more},
      {"-inf + q", some, more},
      {"inf / q", some, more},
      {"q / inf", some, more},
      // The number where another may be none.
      {"min(abs(sqrt(q - 12.0)), 5.0)", some, more},
      {"min(5.0, abs(sqrt(q - 12.0)))", some, more},
      {"max(floor(abs(sqrt(q - 12.0))), -1.0)", some, more},
      {"max(-1.0, floor(abs(sqrt(q - 12.0))))", some, more},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.text));
    const auto value = parse_score_expression(std::string("1.0 * (") + row.text + ")", sizes, tables);
    REQUIRE_MESSAGE(value, (value ? std::string() : value.error().sentence.text()));
    ExpressionEvaluator<float> evaluator(*value);
    float least = HUGE_VALF, greatest = -HUGE_VALF;
    for (std::int64_t q = row.queries.first; q < row.queries.end(); ++q)
      for (std::int64_t kv = row.keys.first; kv < row.keys.end(); ++kv) {
        const float real = evaluator({0, 0, q, kv}).real;
        least = std::min(least, real);
        greatest = std::max(greatest, real);
      }
    const auto verdict = [&](const std::string& comparison, float with) {
      const std::string number = std::isinf(with) ? (with < 0 ? "(-inf)" : "inf") : fmt::format("({:.9g})", with);
      const auto condition = parse_mask_expression(fmt::format("({}) {} {}", row.text, comparison, number), sizes, tables);
      REQUIRE_MESSAGE(condition, (condition ? std::string() : condition.error().sentence.text()));
      IntervalAnalysis analysis(*condition, ranges_of(condition->tables));
      analysis.set_plane(0, 0);
      const IntervalAnalysis::Verdict found = analysis(row.queries, row.keys);
      CHECK_FALSE(found.can_fault);
      return found;
    };
    CAPTURE(least);
    CAPTURE(greatest);
    for (const char* always : {">=", "<="}) {
      const IntervalAnalysis::Verdict found = verdict(always, always[0] == '>' ? least : greatest);
      CHECK(found.can_hold);
      CHECK_FALSE(found.can_fail);
    }
    for (const char* never : {"<", ">"}) {
      const IntervalAnalysis::Verdict found = verdict(never, never[0] == '<' ? least : greatest);
      CHECK(found.can_fail);
      CHECK_FALSE(found.can_hold);
    }
  }
}

TEST_CASE("analysis: a part that may be at fault counts only where the value may come from it") {
  const ExprSizes sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  const TableList tables = {std::make_shared<const CapturedTable>(make_table("t", {5, 6, 7, 8, 9, 10, 11, 12}))};
  struct Row {
    const char* text;
    TileRange queries;
    bool can_hold, can_fail, can_fault;
  };
  constexpr TileRange low{0, 8}, middle{8, 8}, high{16, 8}, across{4, 8};
  const Row rows[] = {
      {"t[q - 8] > 4", middle, true, false, false},
      {"t[q - 8] > 12", middle, false, true, false},
      {"t[q - 8] > 4", low, true, false, true},
      {"t[q - 8] > 4", high, true, false, true},
      {"q >= 8 && t[q - 8] > 4", low, false, true, false},
      {"q >= 8 && t[q - 8] > 4", middle, true, false, false},
      {"q >= 8 && t[q - 8] > 4", high, true, false, true},
      {"q >= 8 && t[q - 8] > 4", across, true, true, true},
      {"t[q - 8] > 4 && q >= 8", low, false, true, true},
      {"q < 16 && q >= 8 && t[q - 8] > 4", high, false, true, false},
      {"q < 8 || t[q - 8] > 4", low, true, false, false},
      {"q < 8 || t[q - 8] > 12", middle, false, true, false},
      {"q < 8 || t[q - 8] > 12", across, true, true, true},
      {"!(q < 8) && t[q - 8] > 4", low, false, true, false},
      {"!(t[q - 8] > 4)", middle, false, true, false},
      {"!(t[q - 8] > 4)", low, false, true, true},
      {"(q >= 8 ? t[q - 8] : 0) > 4", low, false, true, false},
      {"(q >= 8 ? t[q - 8] : 0) > 4", middle, true, false, false},
      {"(q < 8 ? 0 : t[q - 8]) > 4", low, false, true, false},
      {"(q >= 8 ? t[q - 8] : 0) > 4", across, true, true, true},
      {"(t[q - 8] > 4 ? 1 : 2) == 1", low, true, false, true},
      {"-t[q - 8] < -4", low, true, false, true},
      {"-t[q - 8] < -4", middle, true, false, false},
      {"1.0 * t[q - 8] > 4.5", low, true, false, true},
      {"int(0.5 * t[q - 8]) >= 2", low, true, false, true},
      {"int(0.5 * t[q - 8]) >= 2", middle, true, false, false},
      {"8 // (q - 12) >= -8", low, true, false, false},
      {"8 // (q - 12) >= -8", high, true, false, false},
      {"8 // (q - 12) >= -8", middle, true, true, true},
      {"8 // (q - 8) >= 1", middle, true, true, true},
      {"8 // (q - 15) <= -1", middle, true, true, true},
      {"8 % (q - 8) >= 0", middle, true, true, true},
      {"8 % (q - 15) <= 0", middle, true, true, true},
      {"8 % (q - 7) >= 0", middle, true, false, false},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.text));
    CAPTURE(row.queries.first);
    const auto condition = parse_mask_expression(row.text, sizes, tables);
    REQUIRE_MESSAGE(condition, (condition ? std::string() : condition.error().sentence.text()));
    IntervalAnalysis analysis(*condition, ranges_of(condition->tables));
    analysis.set_plane(1, 2);
    const IntervalAnalysis::Verdict found = analysis(row.queries, {3, 5});
    CHECK(found.can_hold == row.can_hold);
    CHECK(found.can_fail == row.can_fail);
    CHECK(found.can_fault == row.can_fault);
  }
}

TEST_CASE("analysis: a choice of two linear numbers is linear only where they are one, and never wrong about their difference") {
  const ExprSizes sizes = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  std::mt19937_64 random(495);
  const auto between = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
  struct Linear {
    int per_query, per_key, constant;
    std::string text() const { return fmt::format("({} * q + {} * kv + {})", per_query, per_key, constant); }
    bool operator==(const Linear&) const = default;
  };
  int decided = 0, of_one = 0;
  for (int round = 0; round < 4000; ++round) {
    const Linear yes = {between(-2, 2), between(-2, 2), between(-3, 3)};
    Linear no = yes;  // one part differs, or none
    const int part = between(0, 3);
    if (part < 3) (part == 0 ? no.per_query : part == 1 ? no.per_key : no.constant) += random() % 2 == 0 ? 1 : -1;
    const Linear less = random() % 2 == 0 ? yes : no;
    const char* const condition[] = {"q > kv", "q % 3 == 0", "kv < 20", "q < 12"};
    const char* const comparison[] = {"==", "<=", ">", "!="};
    const std::string text = fmt::format("(({}) ? {} : {}) - {} {} {}", condition[random() % 4], yes.text(), no.text(), less.text(),
                                         comparison[random() % 4], between(-2, 2));
    CAPTURE(text);
    const auto expression = parse_mask_expression(text, sizes);
    REQUIRE(expression);
    IntervalAnalysis analysis(*expression, {});
    analysis.set_plane(0, 0);
    ExpressionEvaluator<float> evaluator(*expression);
    const TileRange queries = {between(0, 30), between(1, 12)}, keys = {between(0, 30), between(1, 12)};
    CAPTURE(queries.first);
    CAPTURE(queries.count);
    CAPTURE(keys.first);
    CAPTURE(keys.count);
    const IntervalAnalysis::Verdict verdict = analysis(queries, keys);
    const std::int64_t visible = count(evaluator, 0, 0, queries, keys).visible;
    if (!verdict.can_hold) REQUIRE(visible == 0);
    if (!verdict.can_fail) REQUIRE(visible == queries.count * keys.count);
    const bool is_decided = !verdict.can_hold || !verdict.can_fail;
    decided += is_decided ? 1 : 0;
    if (yes != no) continue;
    CHECK(is_decided);  // whatever is chosen, the difference is 0
    ++of_one;
  }
  CHECK(of_one > 500);
  CHECK(decided > of_one);
}

TEST_CASE("analysis: a function of a range lies between its values at the ends, to a rounding, and is never or maybe no number") {
  const ExprSizes sizes = {.batch = 1, .heads = 1, .kv_heads = 1, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  struct Case {
    const char* argument;
    TileRange queries;
  };
  const Case cases[] = {{"(q * 0.125)", {8, 40}},      {"(q * 0.125)", {0, 9}}, {"(q * 0.125 - 2.0)", {8, 40}},
                        {"(q * 0.5 - 40.0)", {3, 20}}, {"(q * 0.25)", {13, 1}}, {"(q * 0.25 - 3.0)", {12, 1}}};
  for (const char* function : {"exp", "exp2", "log", "tanh", "sqrt", "sigmoid", "floor", "sin", "cos"})
    for (const Case& each : cases) {
      const std::string text = std::string(function) + each.argument;
      CAPTURE(text);
      CAPTURE(each.queries.first);
      const auto value = parse_score_expression("1.0 * " + text, sizes);
      REQUIRE(value);
      ExpressionEvaluator<float> evaluator(*value);
      float least = HUGE_VALF, greatest = -HUGE_VALF;
      bool is_number = true;
      for (std::int64_t q = each.queries.first; q < each.queries.end(); ++q) {
        const float real = evaluator({0, 0, q, 0}).real;
        if (std::isnan(real)) is_number = false;
        least = std::fmin(least, real);
        greatest = std::fmax(greatest, real);
      }
      const auto verdict = [&](const char* comparison, double with) {
        const std::string number = std::isinf(with) ? (with < 0 ? "(-inf)" : "inf") : fmt::format("({:.9g})", with);
        const auto condition = parse_mask_expression(fmt::format("{}{}{}", text, comparison, number), sizes);
        REQUIRE(condition);
        IntervalAnalysis analysis(*condition, ranges_of(condition->tables));
        analysis.set_plane(0, 0);
        return analysis(each.queries, {0, 4});
      };
      const bool oscillates = text[0] == 's' ? text[1] == 'i' && text[2] == 'n' : text[0] == 'c';
      const bool is_one = each.queries.count == 1;
      if (!is_number) {  // nothing can be said of what may be no number, except where all of it is below what the function takes
        CHECK(verdict(" >= ", -1e30).can_fail);
        CHECK(verdict(" <= ", 1e30).can_fail);
        continue;
      }
      if (oscillates && !is_one) {
        CHECK_FALSE(verdict(" <= ", 1).can_fail);
        CHECK_FALSE(verdict(" >= ", -1).can_fail);
        CHECK(verdict(" <= ", 0.999).can_fail);
        CHECK(verdict(" >= ", -0.999).can_fail);
        continue;
      }
      const double room = is_one || text[0] == 'f' ? 0 : 1e-6;
      const double below = std::isinf(least) ? least : least - room * (1 + std::abs(least));
      const double above = std::isinf(greatest) ? greatest : greatest + room * (1 + std::abs(greatest));
      CHECK_FALSE(verdict(" >= ", below).can_fail);
      CHECK_FALSE(verdict(" <= ", above).can_fail);
      CHECK_FALSE(verdict(" > ", above).can_hold);
      CHECK_FALSE(verdict(" < ", below).can_hold);
      // The ends themselves are never excluded.
      CHECK(verdict(" <= ", least).can_hold);
      CHECK(verdict(" >= ", greatest).can_hold);
    }
}

TEST_CASE("mask: a long evaluation asks now and then whether to go on, and ends where it is told to") {
  const ExprSizes sizes = {.seq_q = 1024, .seq_kv = 1024, .head_dim = 64};
  // Twice a number is never odd, which the analysis does not know: all 1,048,576 elements are looked at.
  const auto odd = parse_mask_expression("(q * kv) % 7 + (q * kv) % 7 == 11", sizes);
  REQUIRE(odd);
  int asked = 0, most = 1000;
  const MaskScope scope = {.go_on = [&] { return ++asked < most; }};
  REQUIRE(ExpressionMask::make(*odd, scope));
  CHECK(asked >= 8);
  CHECK(asked <= 17);
  for (const int end : {1, 5}) {
    asked = 0;
    most = end;
    const auto cancelled = ExpressionMask::make(*odd, scope);
    REQUIRE_FALSE(cancelled);
    CHECK(cancelled.error().kind == Error::Kind::cancelled);
    CHECK(asked == end);
  }
}

TEST_CASE("mask: tiles of a random expression are what their elements are, and a mask at fault is refused with the element") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int refused = 0, made = 0;
  for (int round = 0; round < expression_count(1000); ++round) {
    const RandomScope scope = random_scope(random);
    RandomExpression generator(random, false);
    const std::string text = generator.condition(1 + static_cast<int>(random() % 3));
    CAPTURE(text);
    const auto expression = parse_mask_expression(text, scope.sizes, scope.tables);
    if (!expression) continue;
    ExpressionEvaluator<float> evaluator(*expression);
    std::int64_t faults = 0;
    for (std::int64_t b = 0; b < scope.sizes.batch; ++b)
      for (std::int64_t h = 0; h < scope.sizes.heads; ++h)
        faults += count(evaluator, b, h, {0, scope.sizes.seq_q}, {0, scope.sizes.seq_kv}).faults;
    const auto mask = ExpressionMask::make(*expression);
    REQUIRE(static_cast<bool>(mask) == (faults == 0));
    if (!mask) {
      ++refused;
      CHECK(mask.error().sentence.text().find("column ") == 0);
      CHECK(mask.error().sentence.text().find(" at b ") != std::string::npos);
      continue;
    }
    ++made;
    const AttentionProblem problem = problem_of(scope.sizes);
    const TileShape block = {1 + static_cast<std::int64_t>(random() % 40), 1 + static_cast<std::int64_t>(random() % 40)};
    const BlockMask lists = block_mask_of(**mask, problem, block);
    std::int64_t visible = 0, partial = 0, full = 0, empty = 0;
    for (std::int64_t plane = 0; plane < problem.query_planes(); ++plane)
      for (std::int64_t i = 0; i < lists.rows; ++i) {
        std::vector<std::int32_t> expected_partial, expected_full;
        for (std::int64_t j = 0; j < lists.cols; ++j) {
          const TileRange queries{i * block.block_q, std::min(block.block_q, problem.seq_q - i * block.block_q)};
          const TileRange keys{j * block.block_kv, std::min(block.block_kv, problem.seq_kv - j * block.block_kv)};
          const Counted counted = count(evaluator, plane / problem.heads, plane % problem.heads, queries, keys);
          const TileVisibility kind = kind_of(counted.visible, queries.count * keys.count);
          visible += counted.visible;
          REQUIRE((*mask)->tile(plane, queries, keys) == kind);
          REQUIRE((*mask)->count_visible(plane, queries, keys) == counted.visible);
          if (kind == TileVisibility::partial) expected_partial.push_back(static_cast<std::int32_t>(j));
          if (kind == TileVisibility::full) expected_full.push_back(static_cast<std::int32_t>(j));
          ++(kind == TileVisibility::partial ? partial : kind == TileVisibility::full ? full : empty);
        }
        const auto of = [&](const BlockLists& kind) {
          const auto row = kind.row(lists.list_plane(plane), i);
          return std::vector<std::int32_t>(row.begin(), row.end());
        };
        REQUIRE(of(lists.partial) == expected_partial);
        REQUIRE(of(lists.full) == expected_full);
      }
    CHECK(lists.partial_blocks == partial);
    CHECK(lists.full_blocks == full);
    CHECK(lists.empty_blocks == empty);
    CHECK(lists.by_analysis + lists.by_evaluation == partial + full + empty);
    CHECK(visible_elements(**mask, lists, problem) == visible);
  }
  CHECK(made > 0);
  CHECK(refused > 0);
}

TEST_CASE("mask: causal, window and documents are decided by analysis away from their edges") {
  constexpr std::int64_t n = 4096;
  const ExprSizes sizes = {.heads = 2, .kv_heads = 2, .seq_q = n, .seq_kv = n, .head_dim = 64};
  std::vector<std::int32_t> documents(n);
  for (std::size_t i = 0; i < documents.size(); ++i) documents[i] = static_cast<std::int32_t>(i / 1000);
  const TableList tables = {std::make_shared<const CapturedTable>(make_table("doc", documents))};
  const AttentionProblem problem = problem_of(sizes);
  for (const char* text : {"q >= kv", "q >= kv && q - kv < 256 * (h + 1)", "doc[q] == doc[kv] && q >= kv", "(q - kv) % 2 == 0"}) {
    CAPTURE(text);
    const auto mask = mask_from(text, sizes, tables);
    const BlockMask lists = block_mask_of(*mask, problem, {128, 128});
    CHECK(lists.mask_batch == 1);
    CHECK(lists.mask_heads == (std::string(text).find('h') != std::string::npos ? 2 : 1));
    CHECK(lists.empty_blocks + lists.partial_blocks + lists.full_blocks == 2 * 32 * 32);
    if (std::string(text).find('%') == std::string::npos)  // dilation leaves no block empty or full, which elements show
      CHECK(lists.by_evaluation <= lists.partial_blocks);
  }
  CHECK(block_mask_of(*mask_from("q >= kv", sizes), problem, {128, 128}).full_blocks == 2 * 31 * 32 / 2);
  CHECK(block_mask_of(*mask_from("true", sizes), problem, {128, 128}).by_evaluation == 0);
}

TEST_CASE("mask: transposes and PyTorch's arrays hold the same tiles") {
  const ExprSizes sizes = {.seq_q = 100, .seq_kv = 140, .head_dim = 16};
  const auto mask = mask_from("q * 3 % 7 < kv % 5 || q // 16 == kv // 16", sizes);
  const BlockMask lists = block_mask_of(*mask, problem_of(sizes), {16, 16});
  for (const BlockLists* kind : {&lists.partial, &lists.full}) {
    const BlockLists back = transposed(*kind, lists.cols);
    CHECK(back.rows == lists.cols);
    std::int64_t tiles = 0;
    for (std::int64_t j = 0; j < lists.cols; ++j)
      for (const std::int32_t i : back.row(0, j)) {
        const auto row = kind->row(0, i);
        CHECK(std::find(row.begin(), row.end(), j) != row.end());
        ++tiles;
      }
    CHECK(tiles == static_cast<std::int64_t>(kind->indices.size()));
    const BlockArrays arrays = arrays_of(*kind, lists.cols);
    CHECK(arrays.counts.size() == static_cast<std::size_t>(lists.rows));
    CHECK(arrays.indices.size() == static_cast<std::size_t>(lists.rows * lists.cols));
    for (std::int64_t i = 0; i < lists.rows; ++i) {
      const auto row = kind->row(0, i);
      CHECK(arrays.counts[static_cast<std::size_t>(i)] == static_cast<std::int32_t>(row.size()));
      CHECK(std::equal(row.begin(), row.end(), arrays.indices.begin() + i * lists.cols));
    }
  }
}

TEST_CASE("mask: one that was made for another length is refused with both lengths") {
  const ExprSizes sizes = {.heads = 2, .kv_heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  const auto mask = mask_from("q >= kv", sizes);
  AttentionProblem problem = problem_of(sizes);
  CHECK(mask->fits(problem));
  problem.seq_q = problem.seq_kv = 128;
  const Status status = mask->fits(problem);
  REQUIRE_FALSE(status);
  CHECK(status.error().sentence.text().find("64 queries, 64 keys") != std::string::npos);
  CHECK(status.error().sentence.text().find("128 queries, 128 keys") != std::string::npos);
}

TEST_CASE("mask: several conditions hold together, and a fault in the second names its column in both") {
  const ExprSizes sizes = {.seq_q = 20, .seq_kv = 20, .head_dim = 16};
  const TableList tables = {std::make_shared<const CapturedTable>(make_table("doc", {0, 0, 1}))};
  std::vector<Expression> conditions;
  for (const char* text : {"q >= kv", "q - kv < 4"}) conditions.push_back(*parse_mask_expression(text, sizes, tables));
  const auto mask = ExpressionMask::make(all_of(conditions));
  REQUIRE(mask);
  for (std::int64_t q = 0; q < 20; ++q)
    for (std::int64_t kv = 0; kv < 20; ++kv) CHECK((*mask)->visible(0, q, kv) == (q >= kv && q - kv < 4));
  conditions.push_back(*parse_mask_expression("doc[kv] == 0", sizes, tables));
  const auto faulty = ExpressionMask::make(all_of(conditions));
  REQUIRE_FALSE(faulty);
  CHECK(faulty.error().sentence.text() == "column 26: index of doc is 3 at b 0, h 0, q 3, kv 3, but doc has 0 to 2 there");
}

}  // namespace tilescope
