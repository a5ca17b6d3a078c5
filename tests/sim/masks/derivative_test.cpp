// Derivatives of score changes against finite differences, and the CUDA text of expressions.
#include "sim/masks/derivative.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/masks/cuda_source.h"
#include "sim/masks/evaluate.h"
#include "tests/sim/masks/parts_of_expression.h"
#include "tests/sim/masks/random_expression.h"

namespace tilescope {
namespace {

constexpr ExprSizes sizes = {.batch = 1, .heads = 8, .kv_heads = 8, .seq_q = 32, .seq_kv = 32, .head_dim = 64};

double slope(const std::string& text, double score, const ExprElement& element = {0, 2, 9, 5}) {
  const auto expression = parse_score_expression(text, sizes);
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  const Expression derivative = derivative_by_score(*expression);
  return ExpressionEvaluator<double>(derivative)(element, score).real;
}

bool all_finite(const std::vector<ExprValue<double>>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const ExprValue<double>& part) { return std::isfinite(part.real); });
}

}  // namespace

TEST_CASE("derivative: the rules of each operation") {
  CHECK(slope("score", 3) == 1);
  CHECK(slope("score + exp2(-8.0 * (h + 1) / H) * (kv - q)", 3) == 1);
  CHECK(slope("7 * q", 3) == 0);
  CHECK(slope("score * score - 2 * score", 3) == 4);
  CHECK(slope("20 * tanh(score / 20)", 8) == doctest::Approx(1 - std::pow(std::tanh(0.4), 2)));
  CHECK(slope("log(sigmoid(score) + 1)", 0) == doctest::Approx(0.25 / 1.5));
  CHECK(slope("1 / score", 2) == -0.25);
  CHECK(slope("sqrt(score) + exp2(score) + exp(-score)", 4) == doctest::Approx(0.25 + 16 * std::log(2.0) - std::exp(-4.0)));
  CHECK(slope("sin(score) + cos(score)", 1) == doctest::Approx(std::cos(1.0) - std::sin(1.0)));
  CHECK(slope("min(score, 2) + max(3 * score, 0)", 1) == 4);
  CHECK(slope("min(score, 2) + max(3 * score, 0)", 5) == 3);
  CHECK(slope("max(score, 2)", 2) == 0.5);  // equal operands have half each
  CHECK(slope("min(score, 3 * score)", 0) == 2);
  CHECK(slope("abs(score)", -2) == -1);
  CHECK(slope("abs(score)", 0) == 0);
  CHECK(slope("floor(score) + int(score)", 1.5) == 0);
  CHECK(slope("kv > q ? -inf : score", 1, {0, 0, 1, 2}) == 0);
  CHECK(slope("kv > q ? -inf : score", 1, {0, 0, 2, 1}) == 1);
  CHECK(slope("clamp(score, -1, 1)", 4) == 0);
}

TEST_CASE("derivative: random score expressions agree with finite differences wherever these settle") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int compared = 0;
  for (int round = 0; round < expression_count(3000); ++round) {
    const RandomScope scope = random_scope(random);
    RandomExpression generator(random, true);
    const std::string text = generator.real(1 + static_cast<int>(random() % 4));
    CAPTURE(text);
    const auto expression = parse_score_expression(text, scope.sizes, scope.tables);
    if (!expression || (expression->dependence() & depends_on_score) == 0) continue;
    const Expression derivative = derivative_by_score(*expression);
    CAPTURE(derivative.text);
    ExpressionEvaluator<double> value(*expression), slope_of(derivative);
    const ExprElement element{0, 0, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.seq_q)),
                              static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.seq_kv))};
    const double score = std::normal_distribution<double>(0, 2)(random);
    CAPTURE(score);
    if (value(element, score).fault) continue;
    const auto difference = [&](double step) {
      const ExprValue<double> above = value(element, score + step), below = value(element, score - step);
      return above.fault || below.fault ? std::nan("") : (above.real - below.real) / (2 * step);
    };
    const double middle = value(element, score).real;
    const double wide = difference(1e-4), narrow = difference(1e-5), finest = difference(1e-6), closest = difference(1e-10);
    const double size = std::max({1.0, std::abs(narrow), std::abs(middle)});
    // At a corner, a step or a pole the differences do not settle. On a stair of very many steps only the closest shows it.
    if (!std::isfinite(narrow) || std::abs(wide - narrow) > 1e-5 * size || std::abs(narrow - finest) > 1e-4 * size ||
        std::abs(narrow - closest) > 1e-4 * size)
      continue;
    if (!all_finite(parts_of(*expression, element, score))) continue;
    if (rounds_a_change_away(*expression, parts_of(*expression, element, score - 1e-5),
                             parts_of(*expression, element, score + 1e-5)))
      continue;
    const ExprValue<double> made = slope_of(element, score);
    REQUIRE_FALSE(made.fault);
    CHECK(std::abs(made.real - narrow) <= 1e-4 * size);
    ++compared;
  }
  CHECK(compared > expression_count(3000) / 10);
}

TEST_CASE("cuda: an expression becomes one line a node, with clamped indices and division that rounds down") {
  const TableList tables = {std::make_shared<const CapturedTable>(make_table("doc", {0, 0, 1, 1}))};
  const auto expression = parse_mask_expression("doc[q] == doc[kv] && (q - kv) // 8 < 2", sizes, tables);
  REQUIRE(expression);
  const std::string source = cuda_source(*expression, "mask");
  CHECK(source.find("bool mask(float score, int b, int h, int q, int kv, const ExprSizes& sizes, int const* t_doc) {") !=
        std::string::npos);
  CHECK(source.find("const int v0 = q;  // column 5") != std::string::npos);
  CHECK(source.find("const int v1 = t_doc[expr_clamp(v0, 3)];  // column 1") != std::string::npos);
  CHECK(source.find("expr_subtract(v0, v2)") != std::string::npos);
  CHECK(source.find("expr_divide(") != std::string::npos);
  CHECK(source.ends_with(fmt::format("  return v{};\n}}\n", expression->root())));
  CHECK(cuda_prelude().find("expr_divide(int a, int b)") != std::string_view::npos);
}

}  // namespace tilescope
