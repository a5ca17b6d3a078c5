// The structs that the flex kernels call, compiled for the CPU: a mask gives what the evaluator gives, and a score nearly so.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/masks/cuda_source.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/kernel_source.h"
#include "tests/rounds.h"
#include "tests/sim/masks/compiled_text.h"
#include "tests/sim/masks/random_expression.h"
#include "tests/skip.h"

namespace tilescope {
namespace {

// What kernels/flex/flex_parts.cuh has for the text, and how a kernel calls the structs: uniforms once, rows, columns, elements.
constexpr std::string_view before_structs = R"(
#include "kernels/flex/flex_arguments.h"
using namespace tilescope::device;
struct FlexPlace { const FlexArguments& arguments; int b, h; const unsigned* uniforms; };
static float __uint_as_float(unsigned bits) { float value; memcpy(&value, &bits, 4); return value; }
static unsigned __float_as_uint(float value) { unsigned bits; memcpy(&bits, &value, 4); return bits; }
static float __fadd_rn(float a, float b) { return a + b; }
static float __fsub_rn(float a, float b) { return a - b; }
static float __fmul_rn(float a, float b) { return a * b; }
static unsigned expr_word(const void* table, int index, bool inside) { return inside ? ((const unsigned*)table)[index] : 0u; }
static int expr_divide_by(int a, unsigned magic, int shift) {
  const int sign = a >> 31;
  return (int)((unsigned long long)(unsigned)(a ^ sign) * magic >> shift) ^ sign;
}
static int expr_modulo_by(int a, unsigned magic, int shift, int divisor) { return a - expr_divide_by(a, magic, shift) * divisor; }
static float expr_reciprocal_exp2(float x) { return (float)(1 / (1 + exp2((double)x))); }
static float expr_tanh(float x) { return tanhf(x); }
static float expr_sigmoid(float x) { return (float)(1 / (1 + exp(-(double)x))); }
#define __noinline__
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
#include "kernels/flex/sines.cuh"
constexpr int stride = 3;  // of the words of a row, and of a column
template <class Struct, bool has_reciprocal = Struct::has_reciprocal>
static float reciprocal_of(const FlexPlace& x, const typename Struct::Row& row, const typename Struct::Column& column, float raw) {
  if constexpr (has_reciprocal) return expr_reciprocal_exp2(Struct::exponent(x, row, column, raw));
  return 0;
}
template <class Struct>
static float value_of(const FlexPlace& x, unsigned* words, int q, int kv, float raw) {
  constexpr int row_words = Struct::rows * stride;
  if constexpr (Struct::present) {
    Struct::set_row(x, q, words, stride);
    typename Struct::ColumnWords held;
    Struct::read_columns(x, kv, held);
    for (int i = 0; i < Struct::columns; ++i) words[row_words + i * stride] = held.value[i];
  }
  const int place = kv % 8;
  const auto row = Struct::row(x, q, kv - place, words, stride);
  const auto column = Struct::column(x, kv - place, place, words + row_words, stride);
  return (float)Struct::value(x, row, column, raw, reciprocal_of<Struct>(x, row, column, raw));
}
template <class Score, class Mask>
static void print(const FlexArguments& arguments, int b, int h, int q, int kv, float raw) {
  unsigned uniforms[64] = {}, words[512] = {};
  const FlexPlace x{arguments, b, h, uniforms};
  Score::set_uniforms(x, uniforms);
  Mask::set_uniforms(x, uniforms + Score::uniforms);
  const float score = value_of<Score>(x, words, q, kv, raw);
  const bool visible = value_of<Mask>(x, words, q, kv, raw) != 0;
  printf("%a %d\n", (double)score, visible);
}
)";

struct Expected {
  double score;
  bool visible;
  std::string where;
};

/// A program that prints values of kernel sources, and what the evaluator says they are.
class PrintedStructs {
 public:
  /// `mask` and `score` may be empty.
  void add(std::mt19937_64& random, const std::string& mask, const std::string& score, const RandomScope& scope) {
    const ExprSizes& s = scope.sizes;
    std::unique_ptr<Expression> of_mask, of_score;
    if (!mask.empty()) {
      auto parsed = parse_mask_expression(mask, s, scope.tables);
      REQUIRE_MESSAGE(parsed, mask);
      of_mask = std::make_unique<Expression>(std::move(*parsed));
    }
    if (!score.empty()) {
      auto parsed = parse_score_expression(score, s, scope.tables);
      REQUIRE_MESSAGE(parsed, score);
      of_score = std::make_unique<Expression>(std::move(*parsed));
    }
    const KernelSource source = kernel_source(of_mask.get(), of_score.get());
    const std::size_t number = count_++;
    functions_ += fmt::format("namespace c{} {{\n{}", number, source.text());
    for (std::size_t t = 0; t < source.tables.size(); ++t) functions_ += array_of(*source.tables[t], fmt::format("t{}", t));
    functions_ += "static FlexArguments arguments() {\n  FlexArguments a = {};\n";
    const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
    functions_ += fmt::format("  a.batch = {}, a.heads = {}, a.kv_heads = {}, a.seq_q = {}, a.seq_kv = {}, a.head_dim = {};\n",
                              s.batch, s.heads, s.kv_heads, s.seq_q, s.seq_kv, s.head_dim);
    functions_ += fmt::format("  a.scale = {:a}f;\n", static_cast<float>(scale));
    for (std::size_t t = 0; t < source.tables.size(); ++t) functions_ += fmt::format("  a.tables[{0}] = t{0};\n", t);
    for (std::size_t i = 0; i < source.scalars.size(); ++i)
      functions_ += fmt::format("  a.scalars[{}] = {}u;\n", i, source.scalars[i]);
    functions_ += "  return a;\n}\n}\n";
    calls_ += fmt::format("  {{ using namespace c{}; const FlexArguments a = arguments();\n", number);
    std::unique_ptr<ExpressionEvaluator<float>> mask_values, score_values;
    if (of_mask) mask_values = std::make_unique<ExpressionEvaluator<float>>(*of_mask);
    if (of_score) score_values = std::make_unique<ExpressionEvaluator<float>>(*of_score);
    const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); };
    for (int i = 0; i < 12; ++i) {
      const ExprElement at{below(s.batch), below(s.heads), below(s.seq_q), below(s.seq_kv)};
      const float raw = static_cast<float>(below(64) - 32) / 4, scaled = static_cast<float>(raw * scale);
      Expected expected{static_cast<double>(raw), true, ""};  // without a change the kernel scales it later
      if (score_values) {
        const ExprValue<float>& value = (*score_values)(at, scaled);
        if (value.fault) continue;
        expected.score = static_cast<double>(value.real);
      }
      if (mask_values) {
        const ExprValue<float>& value = (*mask_values)(at);
        if (value.fault) continue;
        expected.visible = value.integer != 0;
      }
      expected.where =
          fmt::format("score '{}' mask '{}' at b {}, h {}, q {}, kv {}, score {}", score, mask, at.b, at.h, at.q, at.kv, scaled);
      expected_.push_back(expected);
      calls_ += fmt::format("    print<FlexScore, FlexMask>(a, {}, {}, {}, {}, {:a}f);\n", at.b, at.h, at.q, at.kv, raw);
    }
    calls_ += "  }\n";
  }

  std::string source() const {
    return std::string(before_prelude) + std::string(cuda_prelude()) + std::string(before_structs) + functions_ + "int main() {\n" +
           calls_ + "}\n";
  }

  void check(const std::string& printed) const {
    const char* at = printed.c_str();
    for (const Expected& expected : expected_) {
      char* end = nullptr;
      const double score = std::strtod(at, &end);
      REQUIRE(end != at);
      at = end;
      const bool visible = std::strtol(at, &end, 10) != 0;
      at = end;
      CHECK_MESSAGE(visible == expected.visible, expected.where);
      const double room = 3e-6 * std::max(1.0, std::abs(expected.score));
      const bool same = score == expected.score || std::abs(score - expected.score) <= room;
      CHECK_MESSAGE(same, expected.where, ": ", score, " instead of ", expected.score);
    }
  }
  std::size_t values() const { return expected_.size(); }

 private:
  std::string functions_, calls_;
  std::vector<Expected> expected_;
  std::size_t count_ = 0;
};

RandomScope scope_with_reals() {
  RandomScope scope;
  scope.sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 48, .seq_kv = 64, .head_dim = 64};
  const auto table = [&](std::string name, std::vector<std::int64_t> shape, ValueType type) {
    CapturedTable made;
    made.name = std::move(name);
    made.type = type;
    made.shape = std::move(shape);
    std::int64_t count = 1;
    for (const std::int64_t length : made.shape) count *= length;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t number = i * 37 % 61 - 30;
      if (type == ValueType::real)
        made.reals.push_back(static_cast<float>(number) / 16);
      else
        made.integers.push_back(type == ValueType::boolean ? number > 0 : static_cast<std::int32_t>(number));
    }
    scope.tables.push_back(std::make_shared<const CapturedTable>(std::move(made)));
  };
  table("t", {64}, ValueType::integer);
  table("r", {64}, ValueType::real);
  table("slope", {4}, ValueType::real);
  table("bias", {111}, ValueType::real);
  table("flag", {64}, ValueType::boolean);
  table("w", {2, 4, 64}, ValueType::real);
  table("pair", {48, 64}, ValueType::integer);
  return scope;
}

}  // namespace

TEST_CASE("kernel source: compiled for the CPU, the structs give what the evaluator gives") {
  if (std::system("'" TILESCOPE_COMPILER "' --version >/dev/null 2>&1") != 0) return skip_test("there is no compiler");
  std::mt19937_64 random(12);
  PrintedStructs values;
  const RandomScope scope = scope_with_reals();
  // Each way in which a score is written: factors of the raw product, one reciprocal for tanh and sigmoid, sums of rows and
  // columns.
  const char* const scores[] = {
      "score",
      "2.5 * score",
      "score * 2.0 / 3.0",
      "3.0 / score",
      "(q + 1.0) / 3.0 + score",
      "score * scale + D",
      "tanh(score / 20.0) * 20.0",
      "20.0 * tanh(score * 0.5)",
      "tanh(score + 0.125 * (q - kv))",
      "3.0 * tanh(score + 0.125 * (q - kv)) - score",
      "sigmoid(score) * score",
      "sigmoid(score) + tanh(score)",
      "tanh(score) + 4.0 * tanh(2.0 * score)",
      "q > kv ? tanh(score) : score",
      "min(score, tanh(score)) + max(score, 0.5)",
      "tanh(min(score, 1.0))",
      "tanh(score) > 0.25 ? 1.0 : sigmoid(score)",
      "score + (q - kv) * 0.125",
      "score + (kv - 2 * q + 3) * slope[h]",
      "slope[h] * (q - kv) + score",
      "score - (h + 1) * 0.25 * abs(q - kv)",
      "score + exp2(-(h + 1.0)) * (kv - q)",
      "score + (kv + kv - q) * slope[h]",
      "score + 1.0 * (q + t[kv])",
      "score + slope[h] * (q - t[kv])",
      "score + 1.0 * -(q - kv)",
      "score + 1.0 * (t[q] - kv - (t[kv] - q))",
      "score + bias[q - kv + NK - 1]",
      "score + r[q] * r[kv]",
      "score + w[b, h, q] - w[b, h, kv]",
      "score + t[q // 2] + t[kv % 7]",
      "score + (flag[q] && flag[kv] ? 1.0 : 2.0)",
      "score + (q % 7) * (kv // 5)",
      "score + 0.25 * ((q - kv) % 7) + (q - kv) // 3",
      "score + sqrt(q * kv + 1.0)",
      "score + log(kv + 1.0) * log(q + 1.0)",
      "score + exp(-0.125 * q) * sin(1.0 * kv) + cos(0.5 * q)",
      "score + cos(0.01 * (q - kv)) + cos(0.7 * (q - kv)) + cos(2500.0 * (kv - q)) + cos(3000.5 * (q - kv)) + cos(1.0 * q * kv)",
      "score + sin(score + kv) + sin(sin(1.0 * (q - kv)) + cos(score) * sin(3.0 * score))",
      "score + sin(1048576.0 * (q * kv % 7)) + cos(q > kv ? 1048576.0 * kv : 0.5 * q)",
      "score + (q * 1000003 + kv * 29) % 13",
      "score + 1.0 * (q * 20000000 - kv)",
      "score + slope[h] * (q * 1000000 - kv)",
      "score + floor(0.3 * q) - floor(0.3 * kv)",
      "score + int(0.3 * q - 0.2 * kv)",
      "q == kv ? score : score - 1.0",
      "score * (b + 2) - h * (B + H + HKV + N + NK)",
      "score + pair[q, kv]",
      "pair[q, kv] > 0 ? score : -inf",
      "score + (~q & kv) + (q | kv) + (q ^ 5) + (q << 2) + (kv >> 1)",
  };
  for (const char* score : scores) values.add(random, "", score, scope);
  const char* const masks[] = {"q >= kv",
                               "q - kv <= 7 && kv - q < 9",
                               "q + 3 > kv",
                               "kv <= q + NK - N",
                               "2 * q - kv >= 5",
                               "q - 2 * kv != 1",
                               "kv + kv == q + q",
                               "t[q] == t[kv]",
                               "t[q] + kv > q - t[kv]",
                               "q * 60000000 > kv * 3",
                               "(h + 1) * q >= kv * (b + 1)",
                               "flag[kv] || q // 4 == kv // 4",
                               "(q - kv) % 3 == 0 || q % 5 < kv % 5",
                               "0.1 * q + 0.2 < 0.3 * kv",
                               "1.0 * (q - kv) / 3.0 > 0.5",
                               "pair[q, kv] < 4",
                               "r[q] * slope[h] < r[kv] && t[kv] > -20"};
  for (const char* mask : masks) {
    values.add(random, mask, "", scope);
    values.add(random, mask, scores[random() % std::size(scores)], scope);
  }
  for (int round = 0; round < rounds(40); ++round) {
    const RandomScope drawn = random_scope(random);
    RandomExpression draws(random, false);
    const std::string mask = draws.condition(3);
    if (mask.find("sigmoid") != std::string::npos || !parse_mask_expression(mask, drawn.sizes, drawn.tables)) continue;
    values.add(random, mask, "", drawn);
  }
  REQUIRE(values.values() > 900);
  const std::string printed = output_of(values.source());
  REQUIRE_FALSE(printed.empty());
  values.check(printed);
}

}  // namespace tilescope
