// The CUDA text of expressions, compiled for the CPU: it gives what the evaluator gives.
#include "sim/masks/cuda_source.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/masks/evaluate.h"
#include "tests/sim/masks/compiled_text.h"
#include "tests/sim/masks/random_expression.h"
#include "tests/skip.h"

namespace tilescope {
namespace {

/// A program that prints values of expressions, and what the evaluator says they are.
class PrintedValues {
 public:
  /// Adds the values of an expression at random elements; an element without a value is left out.
  void add(std::mt19937_64& random, const Expression& expression, const ExprSizes& sizes) {
    const std::size_t number = count_++;
    std::string arguments;
    for (std::size_t t = 0; t < expression.tables.size(); ++t) {
      const std::string name = fmt::format("t{}_{}", number, t);
      functions_ += array_of(*expression.tables[t], name);
      arguments += ", " + name;
    }
    functions_ += cuda_source(expression, fmt::format("f{}", number));
    functions_ += fmt::format("static void print{}() {{\n", number);
    functions_ += fmt::format("const ExprSizes sizes = {{{}, {}, {}, {}, {}, {}}};\n", sizes.batch, sizes.heads, sizes.kv_heads,
                              sizes.seq_q, sizes.seq_kv, sizes.head_dim);
    ExpressionEvaluator<float> evaluator(expression);
    const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); };
    for (int i = 0; i < 8; ++i) {
      const ExprElement at{below(sizes.batch), below(sizes.heads), below(sizes.seq_q), below(sizes.seq_kv)};
      const auto score = static_cast<float>(below(64) - 32) / 4;
      const ExprValue<float> value = evaluator(at, score);
      if (value.fault) continue;
      functions_ += fmt::format("printf(\"%a\\n\", (double)f{}({:a}f, {}, {}, {}, {}, sizes{}));\n", number, score, at.b, at.h,
                                at.q, at.kv, arguments);
      expected_.push_back(expression.type() == ValueType::real ? static_cast<double>(value.real) : value.integer);
      texts_.push_back(fmt::format("{} at b {}, h {}, q {}, kv {}, score {}", expression.text, at.b, at.h, at.q, at.kv, score));
    }
    functions_ += "}\n";
    calls_ += fmt::format("print{}();\n", number);
  }

  std::string source() const {
    return std::string(before_prelude) + std::string(cuda_prelude()) + functions_ + "int main() {\n" + calls_ + "}\n";
  }

  void check(const std::string& printed) const {
    const char* at = printed.c_str();
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      char* end = nullptr;
      const double value = std::strtod(at, &end);
      REQUIRE(end != at);
      at = end;
      const bool same = value == expected_[i] || (std::isnan(value) && std::isnan(expected_[i]));
      CHECK_MESSAGE(same, texts_[i], ": ", value, " instead of ", expected_[i]);
    }
  }
  std::size_t values() const { return expected_.size(); }

 private:
  std::string functions_, calls_;
  std::vector<double> expected_;
  std::vector<std::string> texts_;
  std::size_t count_ = 0;
};

}  // namespace

TEST_CASE("cuda: at the corners of whole numbers, text compiled for the CPU gives what the evaluator gives") {
  if (std::system("'" TILESCOPE_COMPILER "' --version >/dev/null 2>&1") != 0) return skip_test("there is no compiler");
  std::mt19937_64 random(11);
  PrintedValues values;
  const ExprSizes sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 48, .seq_kv = 64, .head_dim = 64};
  for (const char* text : {"(q - 24) // 7",
                           "(q - 24) // (kv - 32)",
                           "(q - 24) % 7",
                           "(q - 24) % (kv - 32)",
                           "(-2147483647 - 1) // -1 + q",
                           "(-2147483647 - 1) % -1 + q",
                           "1 << q",
                           "-5 << q",
                           "(q - 24) >> (kv - 8)",
                           "int((q - 24) * 1e8)",
                           "int((q - 24) / (kv * 0.0))",
                           "int((kv * 0.0) / (q - q))",
                           "2147483647 + q",
                           "-2147483647 - q",
                           "abs(-2147483647 - q)",
                           "1 << (kv - 8)",
                           "min(q - kv, 3)",
                           "max(q - kv, 3)",
                           "min(score, 1 / (q - 20.0))",
                           "max(score, sqrt(score))",
                           "min(sqrt(score), score)",
                           "1e-30 * score",
                           "scale * score"}) {
    const auto expression = parse_score_expression(text, sizes);
    REQUIRE_MESSAGE(expression, text);
    for (int again = 0; again < 3; ++again) values.add(random, *expression, sizes);
  }
  REQUIRE(values.values() > 400);
  const std::string printed = output_of(values.source());
  REQUIRE_FALSE(printed.empty());
  values.check(printed);
}

TEST_CASE("cuda: the text of random expressions, compiled for the CPU, gives what the evaluator gives") {
  if (std::system("'" TILESCOPE_COMPILER "' --version >/dev/null 2>&1") != 0) return skip_test("there is no compiler");
  constexpr int of_a_program = 500;  // a compiler needs more memory for more
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int left = expression_count(160); left > 0; left -= of_a_program) {
    PrintedValues values;
    for (int round = 0; round < std::min(left, of_a_program);) {
      const RandomScope scope = random_scope(random);
      const bool is_mask = random() % 2 == 0;
      RandomExpression draws(random, !is_mask);
      const std::string text = is_mask ? draws.condition(4) : draws.real(4);
      if (text.find("sigmoid") != std::string::npos) continue;  // three roundings here, one there
      const auto expression = is_mask ? parse_mask_expression(text, scope.sizes, scope.tables)
                                      : parse_score_expression(text, scope.sizes, scope.tables);
      if (!expression) continue;
      values.add(random, *expression, scope.sizes);
      ++round;
    }
    REQUIRE(values.values() > 0);
    const std::string printed = output_of(values.source());
    REQUIRE_FALSE(printed.empty());
    values.check(printed);
  }
}

}  // namespace tilescope
