// The language of masks: what it accepts, what it means, what it says about mistakes; and that both evaluators agree.
#include "sim/masks/expression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/masks/evaluate.h"
#include "sim/masks/row_evaluator.h"
#include "sim/masks/score_faults.h"
#include "tests/sim/masks/random_expression.h"

namespace tilescope {
namespace {

constexpr ExprSizes small_sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 32, .seq_kv = 48, .head_dim = 64};

TableList tables() {
  CapturedTable pair;
  pair.name = "pair";
  pair.shape = {2, 3};
  pair.type = ValueType::real;
  pair.reals = {0, 1, 2, 10, 11, 12};
  std::vector<std::int32_t> documents(48);
  for (std::size_t i = 0; i < documents.size(); ++i) documents[i] = static_cast<std::int32_t>(i / 20);
  return {std::make_shared<const CapturedTable>(make_table("doc", documents)), std::make_shared<const CapturedTable>(pair)};
}

Expression score_of(const std::string& text) {
  auto made = parse_score_expression(text, small_sizes, tables());
  REQUIRE_MESSAGE(made, text, ": ", (made ? std::string() : made.error().sentence.text()));
  return *made;
}
Expression mask_of_text(const std::string& text) {
  auto made = parse_mask_expression(text, small_sizes, tables());
  REQUIRE_MESSAGE(made, text, ": ", (made ? std::string() : made.error().sentence.text()));
  return *made;
}

double value(const std::string& text, const ExprElement& element = {1, 2, 5, 9}, double score = 0.5) {
  const Expression expression = score_of(text);
  return ExpressionEvaluator<double>(expression)(element, score).real;
}
bool holds(const std::string& text, const ExprElement& element = {1, 2, 5, 9}) {
  const Expression expression = mask_of_text(text);
  return ExpressionEvaluator<float>(expression)(element).integer != 0;
}
std::string mistake(const std::string& text, bool mask = false) {
  const auto made = mask ? parse_mask_expression(text, small_sizes, tables()) : parse_score_expression(text, small_sizes, tables());
  REQUIRE_FALSE_MESSAGE(made, text);
  return made.error().sentence.text();
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("expression: a row of as many keys as the evaluator holds has the value of each of them") {
  const auto check = [](const std::string& text) {
    const Expression expression = score_of(text);
    RowEvaluator rows(expression);
    ExpressionEvaluator<float> reference(expression);
    rows.set_plane(1, 2);
    rows.set_keys(0, RowEvaluator::most_keys);
    std::vector<float> scores(RowEvaluator::most_keys);
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i) / 8;
    const auto row = rows.scores(5, scores);
    REQUIRE(row.size() == scores.size());
    bool same = true;
    for (std::size_t i = 0; i < scores.size(); ++i)
      same = same && same_bits(row[i], reference({1, 2, 5, static_cast<std::int64_t>(i)}, scores[i]).real);
    CHECK(same);
  };
  // The last operation is the one whose results lie at the end of the evaluator's memory.
  check("kv % 3 == 0 ? score : 0.5");
  check("score + kv");
  check("min(score, 9.0 - kv)");
  check("exp(-score)");
}

TEST_CASE("expression: a fault names the index that leaves its table, and what the table has there") {
  const auto fault = [](const std::string& text, const ExprElement& element) {
    const Expression expression = score_of(text);
    ExpressionEvaluator<float> evaluator(expression);
    REQUIRE(evaluator(element).fault);
    return evaluator.fault(element).text();
  };
  CHECK(fault("pair[1, q]", {0, 0, 5, 0}) == "column 1: index 2 of pair is 5 at b 0, h 0, q 5, kv 0, but pair has 0 to 2 there");
  CHECK(fault("pair[q, 1]", {0, 0, 2, 0}) == "column 1: index 1 of pair is 2 at b 0, h 0, q 2, kv 0, but pair has 0 to 1 there");
  CHECK(fault("pair[0, q]", {0, 0, 3, 0}).starts_with("column 1: index 2 of pair is 3 at "));
  CHECK(fault("pair[q - 1, 1]", {0, 0, 0, 0}).starts_with("column 1: index 1 of pair is -1 at "));
  CHECK(fault("doc[q + kv]", {0, 0, 20, 28}).starts_with("column 1: index of doc is 48 at "));
}

TEST_CASE("expression: names are the element, the sizes, the scale and infinity") {
  CHECK(value("b + 10 * h + 100 * q + 1000 * kv") == 1 + 20 + 500 + 9000);
  CHECK(value("B + 10 * H + 100 * HKV") == 2 + 40 + 200);
  CHECK(value("N + 100 * NK + D") == 32 + 4800 + 64);
  CHECK(value("scale") == 0.125);
  CHECK(value("score") == 0.5);
  CHECK(value("-inf") == -HUGE_VAL);
}

TEST_CASE("expression: operators bind as in C, and // and % round down") {
  CHECK(value("1 + 2 * 3") == 7);
  CHECK(value("(1 + 2) * 3") == 9);
  CHECK(value("2 - 3 - 4") == -5);
  CHECK(value("1 << 2 + 1") == 8);
  CHECK(value("7 & 3 | 8") == 11);
  CHECK(value("6 ^ 3") == 5);
  CHECK(value("~5") == -6);
  CHECK(value("-7 // 2") == -4);
  CHECK(value("-7 % 2") == 1);
  CHECK(value("7 % -4") == -1);
  CHECK(value("7 / 2") == 3.5);
  CHECK(value("-16 >> 2") == -4);
  CHECK(value("q - kv") == -4);
  CHECK(value("(q - kv) // 8") == -1);
  CHECK(value("true ? 1 : false ? 2 : 3") == 1);
  CHECK(holds("q < kv & kv < NK"));
  CHECK(holds("not q > kv and (false or true)"));
  CHECK_FALSE(holds("!true || false"));
  CHECK(holds("true ^ false"));
}

TEST_CASE("expression: functions are those of the table") {
  CHECK(value("abs(-3) + abs(-0.5)") == 3.5);
  CHECK(value("min(2, 3) + max(2.5, 1)") == 4.5);
  CHECK(value("clamp(7, 0, 5) + clamp(-1.5, -1, 1)") == 4);
  CHECK(value("floor(-1.5)") == -2);
  CHECK(value("exp2(3)") == 8);
  CHECK(value("log(exp(2))") == doctest::Approx(2));
  CHECK(value("tanh(score)") == doctest::Approx(std::tanh(0.5)));
  CHECK(value("sqrt(16) + sigmoid(0)") == 4.5);
  CHECK(value("sin(0) + cos(0)") == 1);
  CHECK(value("where(q < kv, 1, 2)") == 1);
  CHECK(value("int(-2.7) + float(3)") == 1);
  CHECK(value("int(q < kv)") == 1);
}

TEST_CASE("expression: let names values and functions, and loops have constant bounds") {
  CHECK(value("let w = 3; w * w") == 9);
  CHECK(value("let twice(x) = 2 * x; let four(x) = twice(twice(x)); four(q)") == 20);
  CHECK(value("sum(i in 0..4: i * i)") == 14);
  CHECK(value("max(i in 0..N // 8: (i * 5) % 4)") == 3);
  CHECK(value("sum(i in 0..3: sum(j in 0..i: 1))") == 3);
  CHECK(value("sum(i in 0..0: 1)") == 0);
  CHECK(holds("any(i in 0..8: q == i)"));
  CHECK_FALSE(holds("all(i in 0..8: q > i)"));
  CHECK(holds("let same(a, c) = doc[a] == doc[c]; same(q, kv)"));
  CHECK_FALSE(holds("doc[q] == doc[kv + 15]"));
  CHECK(value("pair[1, 2] + pair[0, h - 1]") == 13);
}

TEST_CASE("expression: only the operand that counts can be at fault") {
  CHECK_FALSE(holds("kv < 4 && doc[kv + 44] == 0", {0, 0, 0, 10}));
  CHECK(holds("kv >= 4 || doc[kv + 44] == 0", {0, 0, 0, 10}));
  CHECK(value("kv < 4 ? doc[kv + 44] : 7", {0, 0, 0, 10}) == 7);
  const Expression faulty = mask_of_text("doc[kv + 44] == 0");
  ExpressionEvaluator<float> evaluator(faulty);
  const ExprElement element{1, 2, 3, 10};
  CHECK(evaluator(element).fault);
  CHECK(evaluator.fault(element) == "column 1: index of doc is 54 at b 1, h 2, q 3, kv 10, but doc has 0 to 47 there");
  const Expression division = mask_of_text("q // (kv - 10) == 0");
  ExpressionEvaluator<float> divides(division);
  CHECK(divides(element).fault);
  CHECK(divides.fault(element) == "column 3: division by zero at b 1, h 2, q 3, kv 10");
}

TEST_CASE("expression: an operation has a fault wherever an operand of it does, and none that it does not choose") {
  // X is an index beyond its table from key 4 on, and an int before.
  const std::string at_fault = "doc[kv + 44]";
  const auto with = [&](std::string form) {
    for (std::size_t at = form.find('X'); at != std::string::npos; at = form.find('X')) form.replace(at, 1, at_fault);
    return form;
  };
  const auto has_fault = [](const Expression& expression, std::int64_t key) {
    const ExprElement element{1, 2, 3, key};
    ExpressionEvaluator<float> narrow(expression);
    ExpressionEvaluator<double> wide(expression);
    const bool fault = narrow(element, 0.5F).fault;
    CHECK(wide(element, 0.5).fault == fault);
    CHECK(narrow.fault(element).empty() == !fault);
    if (fault) CHECK(narrow.fault(element).text().find("index of doc is") != std::string::npos);
    return fault;
  };
  for (const char* form : {"-X",
                           "~X",
                           "abs(X)",
                           "X + 1",
                           "1 + X",
                           "X - 1",
                           "1 - X",
                           "X * 2",
                           "2 * X",
                           "X // 2",
                           "5 // (X + 9)",
                           "X % 2",
                           "5 % (X + 9)",
                           "min(X, 1)",
                           "min(1, X)",
                           "max(X, 1)",
                           "max(1, X)",
                           "X << 1",
                           "1 << X",
                           "X >> 1",
                           "1 >> X",
                           "X & 1",
                           "1 & X",
                           "X | 1",
                           "1 | X",
                           "X ^ 1",
                           "1 ^ X",
                           "int(X * 0.5)",
                           "doc[X]",
                           "(X > 0 ? 1 : 2)",
                           "(q > 0 ? X : 2)",
                           "(q < 0 ? 2 : X)",
                           "X * 0.5",
                           "0.5 * X",
                           "X + score",
                           "score - X",
                           "score / (X + 0.5)",
                           "X / 4.0",
                           "sqrt(X + 0.5)",
                           "exp(X)",
                           "tanh(X)",
                           "sigmoid(X)",
                           "floor(X * 0.5)",
                           "-(X * 0.5)",
                           "abs(X * 0.5)",
                           "min(X * 0.5, score)",
                           "max(score, X * 0.5)",
                           "pair[0, X]",
                           "pair[X % 2, 1]"}) {
    CAPTURE(std::string(form));
    const Expression expression = score_of(with(fmt::format("score + ({})", form)));
    CHECK(has_fault(expression, 10));
    CHECK_FALSE(has_fault(expression, 1));
  }
  for (const char* form : {"X == 1", "1 != X", "X < 1", "1 <= X", "X > 1", "1 >= X", "X * 0.5 == score", "score < X", "!(X > 0)",
                           "X > 0 && q > 0", "q > 0 && X > 0", "X > 0 || q < 0", "q < 0 || X > 0", "any(i in 0..3: X > i)"}) {
    CAPTURE(std::string(form));
    const Expression expression = score_of(with(fmt::format("({}) ? score : 1.0", form)));
    CHECK(has_fault(expression, 10));
    CHECK_FALSE(has_fault(expression, 1));
  }
  for (const char* form : {"(q > 0 ? 2 : X)", "(q < 0 ? X : 2)", "(q < 0 && X > 0 ? 1 : 2)", "(q > 0 || X > 0 ? 1 : 2)"})
    CHECK_FALSE_MESSAGE(has_fault(score_of(with(fmt::format("score + ({})", form))), 10), form);
}

TEST_CASE("expression: a mistake is one sentence that begins with its column") {
  CHECK(mistake("q - kw") == "column 5: unknown name 'kw': did you mean kv?");
  CHECK(mistake("q - kv", true) == "column 1: a mask is a condition, and this is an int: compare it, as in q >= kv");
  CHECK(mistake("q < kv") == "column 1: a score is a number, and this is a bool: write where(condition, score, -inf)");
  CHECK(mistake("score > 0", true) == "column 1: a mask knows no score: use score to change scores");
  CHECK(mistake("0 <= q < 5", true) == "column 8: a comparison cannot be chained: write a < b && b < c");
  CHECK(mistake("q = kv", true) == "column 3: '=' defines a name after let: write == to compare");
  CHECK(mistake("q && kv", true) == "column 3: '&&' takes conditions, and this is an int: compare it, as in x != 0");
  CHECK(mistake("1.5 // 2") == "column 5: '//' takes ints, and this is a float: write int(floor(x))");
  CHECK(mistake("(q < kv) + 1") == "column 10: '+' takes numbers, and this is a bool: write where(condition, 1, 0)");
  CHECK(mistake("1 // 0") == "column 3: this divides by zero");
  CHECK(mistake("1 / 0") == "column 3: this divides by zero");
  CHECK(mistake("doc[99]") == "column 1: this index is outside doc (48)");
  CHECK(mistake("doc[q, kv]") == "column 1: doc takes 1 index, not 2");
  CHECK(mistake("doc") == "column 1: doc is a table with 1 dimension: write doc[q]");
  CHECK(mistake("doc[score]") == "column 1: an index of doc takes ints, and this is a float: write int(floor(x))");
  CHECK(mistake("doc[int(score)]") == "column 1: an index of doc may not depend on the score");
  CHECK(mistake("sum(i in 0..q: 1)") == "column 13: the bound of a loop must be constant: it may not use b, h, q, kv or score");
  CHECK(mistake("sum(i in 0..5000: 1)") == "column 1: the loop has 5000 rounds: at most 1024");
  CHECK(mistake("let q = 3; q") == "column 5: 'q' already means query, counted from 0");
  CHECK(mistake("let w = 3") == "column 10: the expression ends where ';' is needed");
  CHECK(mistake("tanh") == "column 1: tanh is a function: write tanh(x)");
  CHECK(mistake("tanh(1, 2)") == "column 1: tanh takes 1 value, not 2");
  CHECK(mistake("q ≤ kv", true) == "column 3: '≤' is written <= here");
  CHECK(mistake("q => kv", true) == "column 3: '=>' is written >= here");
  CHECK(mistake("q =< kv", true) == "column 3: '=<' is written <= here");
  CHECK(mistake("q <> kv", true) == "column 3: '<>' is written != here");
  CHECK(mistake("q === kv", true) == "column 3: '===' is written == here");
  CHECK(mistake("q !== kv", true) == "column 3: '!==' is written != here");
  CHECK(mistake("q @ kv") == "column 3: '@' is no part of an expression");
  CHECK(mistake("3000000000").find("column 1: 3000000000 does not fit 32 bits") == 0);
  CHECK(mistake("") == "column 1: the expression is missing");
  CHECK(mistake("(q") == "column 3: the expression ends where ')' is needed");
  CHECK(mistake("let f(x) = f(x); f(1)") ==
        "column 12: unknown name 'f': use b, h, q, kv, B, H, HKV, N, NK, D, scale, inf, or the name of a table");
}

TEST_CASE("expression: a loop may have 1024 rounds, wherever it begins, and the refusal of more says how many") {
  for (const int first : {-2000, -7, 0, 5, 3000})
    for (const int rounds : {1, 1023, 1024, 1025, 4000}) {
      const std::string text = fmt::format("sum(i in {}..{}: 1)", first, first + rounds);
      CAPTURE(text);
      if (rounds <= 1024)
        CHECK(value(text) == rounds);
      else
        CHECK(mistake(text) == fmt::format("column 1: the loop has {} rounds: at most 1024", rounds));
    }
}

TEST_CASE("expression: a shift by less than 0 or more than 31 bits leaves nothing, or the sign") {
  for (int bits = -80; bits <= 80; ++bits)
    for (const std::int64_t number : {1, 5, -3, 1 << 30}) {
      CAPTURE(bits);
      CAPTURE(number);
      const bool is_in = bits >= 0 && bits <= 31;
      // In 32 bits; the sum with b keeps the parser from folding it.
      std::int64_t up = number, down = number;
      for (int n = 0; n < bits && is_in; ++n) {
        up = static_cast<std::int32_t>(static_cast<std::uint32_t>(2 * up));
        down = down >= 0 ? down / 2 : -((1 - down) / 2);
      }
      if (!is_in) up = 0, down = number < 0 ? -1 : 0;
      const std::string by = bits < 0 ? fmt::format("(b - {})", 1 - bits) : fmt::format("(b + {} - 1)", bits);
      CHECK(value(fmt::format("({} + h - 2) << {}", number, by)) == static_cast<double>(up));
      CHECK(value(fmt::format("({} + h - 2) >> {}", number, by)) == static_cast<double>(down));
      const std::string folded = bits < 0 ? fmt::format("(0 - {})", -bits) : fmt::format("{}", bits);
      // What is constant is refused where it leaves 32 bits.
      if (is_in && number * (std::int64_t{1} << bits) == up)
        CHECK(value(fmt::format("({}) << {}", number, folded)) == static_cast<double>(up));
      if (is_in) CHECK(value(fmt::format("({}) >> {}", number, folded)) == static_cast<double>(down));
    }
}

TEST_CASE("expression: a score that is infinite everywhere, or the log of a score that may be negative, is said to give NaN") {
  const auto why = [](const std::string& text) {
    const auto made = parse_score_expression(text, small_sizes, {});
    REQUIRE(made);
    return score_faults(*made).text();
  };
  CHECK(why("inf") == "every score is inf, so every row of O is NaN");
  CHECK(why("inf - inf") == "every score is NaN, and so is every row of O");
  CHECK(why("1 + log(score)").starts_with("column 5: the log of a negative score is NaN"));
  CHECK(why("sqrt(score + 1)").starts_with("column 1: the sqrt of a negative score is NaN"));
  for (const char* harmless :
       {"score", "-inf", "3", "where(q < kv, -inf, score)", "log(abs(score))", "log(max(score, 1e-6))", "log(exp(score) + 1)",
        "sqrt(score * score)", "log(sigmoid(score))", "score + sqrt(abs(q - kv))", "log(q + 1.5) + score"})
    CHECK_MESSAGE(why(harmless) == "", harmless);
}

TEST_CASE(
    "expression: a constant that leaves 32 bits, and a shift by a constant that leaves nothing, are refused with their column") {
  const auto why = [](const std::string& text) {
    const auto mask = parse_mask_expression(text, small_sizes, {});
    return mask ? std::string("taken") : mask.error().sentence.text();
  };
  CHECK(why("q < 1 << 40") == "column 7: a shift is by 0 to 31 bits, and this is by 40");
  CHECK(why("q < 1 << -1") == "column 7: a shift is by 0 to 31 bits, and this is by -1");
  CHECK(why("q << 32 < kv") == "column 3: a shift is by 0 to 31 bits, and this is by 32");
  CHECK(why("q >> 99 < kv") == "column 3: a shift is by 0 to 31 bits, and this is by 99");
  CHECK(why("q < 1 << 31") == "column 7: this is 2147483648, and an int has 32 bits");
  CHECK(why("q < 2147483647 + 1") == "column 16: this is 2147483648, and an int has 32 bits");
  CHECK(why("q < 65536 * 65536") == "column 11: this is 4294967296, and an int has 32 bits");
  CHECK(why("q > -2147483647 - 2") == "column 17: this is -2147483649, and an int has 32 bits");
  CHECK(why("q < 1 << 30") == "taken");
  CHECK(why("q * 2147483647 < kv") == "taken");  // wraps, as on the GPU
  CHECK(why("q << kv < 7") == "taken");
}

TEST_CASE("expression: one that is too long, too deep or too much work is refused at once") {
  const std::string endless(10000000, '1');  // NOLINT(bugprone-string-constructor): so long it is to be
  CHECK(mistake(endless) == "the expression has 10000000 characters: at most 16384");
  CHECK(mistake(std::string(5000, '(')).find("nested more than 200 deep") != std::string::npos);
  CHECK(mistake(fmt::format("{}1", std::string(5000, '-'))).find("nested more than 200 deep") != std::string::npos);
  CHECK(mistake("sum(i in 0..1024: sum(j in 0..1024: i * j))").find("more than 16384 operations") != std::string::npos);
  CHECK(mistake("sum(i in 0..1024: sum(j in 0..1024: sum(k in 0..1024: 1)))").find("loops and functions come to more than") !=
        std::string::npos);
  std::string doubling = "let f0(x) = x + x; ";
  for (int i = 1; i < 60; ++i) doubling += fmt::format("let f{}(x) = f{}(f{}(x)); ", i, i - 1, i - 1);
  CHECK_FALSE(mistake(doubling + "f59(q)").empty());
}

TEST_CASE("expression: a text may be as long, and nested as deep, as the limit says") {
  const auto blanks = [](std::size_t size) { return "score" + std::string(size - 5, ' '); };
  CHECK(parse_score_expression(blanks(16384), small_sizes, {}));
  CHECK(mistake(blanks(16385)) == "the expression has 16385 characters: at most 16384");
  // The whole expression is a level, and so is each bracket or sign.
  for (const auto& brackets : {std::pair("(", ")"), {"-", ""}, {"abs(", ")"}}) {
    const auto nested = [&](int levels) {
      std::string text;
      for (int i = 1; i < levels; ++i) text += brackets.first;
      text += "score";
      for (int i = 1; i < levels; ++i) text += brackets.second;
      return text;
    };
    CAPTURE(std::string(brackets.first));
    CHECK(parse_score_expression(nested(200), small_sizes, {}));
    CHECK(mistake(nested(201)).find("nested more than 200 deep") != std::string::npos);
  }
}

TEST_CASE("expression: names shared 60 times over take no time") {
  std::string text = "let x0 = q + kv; ";
  for (int i = 1; i <= 60; ++i) text += fmt::format("let x{} = x{} - x{} + 1; ", i, i - 1, i - 1);
  CHECK(value(text + "x60") == 1);
}

TEST_CASE("expression: a table of any type holds what 32 bits hold, and no more") {
  const auto file = [](const std::string& type, const std::string& shape, const std::string& data) {
    const std::string dictionary = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::string text = "\x93NUMPY\x01";
    text += {'\0', static_cast<char>(dictionary.size()), '\0'};
    return text + dictionary + data;
  };
  const auto bytes = [](std::uint64_t value, int size) {
    std::string text;
    for (int i = 0; i < size; ++i) text += static_cast<char>(value >> 8 * i & 0xffU);
    return text;
  };
  const auto refusal = [](const Result<CapturedTable>& table) { return table ? std::string() : table.error().sentence.text(); };
  for (const auto& each : {std::pair("|i1", 1), {"<i2", 2}, {"<i4", 4}, {"<i8", 8}, {"|u1", 1}, {"<u2", 2}, {"<u4", 4}}) {
    const char* const type = each.first;
    const int size = each.second;
    CAPTURE(std::string(type));
    const bool has_sign = type[1] == 'i';
    const int bits = std::min(8 * size, 32);
    const std::int64_t least = has_sign ? -(std::int64_t{1} << (bits - 1)) : 0;
    const std::int64_t greatest = (std::int64_t{1} << (has_sign || bits == 32 ? bits - 1 : bits)) - 1;
    const auto table = parse_npy_table(
        "t", file(type, "(2,)", bytes(static_cast<std::uint64_t>(least), size) + bytes(static_cast<std::uint64_t>(greatest), size)),
        "t.npy");
    REQUIRE_MESSAGE(table, refusal(table));
    CHECK(table->type == ValueType::integer);
    CHECK(table->integers == std::vector<std::int32_t>{static_cast<std::int32_t>(least), static_cast<std::int32_t>(greatest)});
    for (const std::int64_t beyond : {least - 1, greatest + 1}) {
      if (size < 8 && !(type[1] == 'u' && size == 4 && beyond > 0)) continue;  // it cannot say such a number
      const auto refused =
          parse_npy_table("t", file(type, "(2,)", bytes(7, size) + bytes(static_cast<std::uint64_t>(beyond), size)), "t.npy");
      CHECK(refusal(refused) == "t.npy: element 1 is beyond 32 bits");
    }
  }
  const std::string half = bytes(0x3800, 2), none = bytes(0x7e00, 2);
  CHECK(parse_npy_table("t", file("<f2", "(1,)", half), "t.npy")->reals == std::vector<float>{0.5F});
  CHECK(parse_npy_table("t", file("<f4", "(1,)", bytes(0x3f000000, 4)), "t.npy")->reals == std::vector<float>{0.5F});
  CHECK(parse_npy_table("t", file("<f8", "(1,)", bytes(0x3fe0000000000000, 8)), "t.npy")->reals == std::vector<float>{0.5F});
  CHECK(refusal(parse_npy_table("t", file("<f2", "(3,)", half + half + none), "t.npy")) == "t.npy: element 2 is not a number");
  CHECK(refusal(parse_npy_table("t", file("<f4", "(1,)", bytes(0x7fc00000, 4)), "t.npy")) == "t.npy: element 0 is not a number");
  // Dimensions and elements, and data of exactly the length that the header says.
  CHECK(parse_npy_table("t", file("<i2", "(1, 2, 1, 2)", std::string(8, 'x')), "t.npy"));
  CHECK(refusal(parse_npy_table("t", file("<i2", "(1, 2, 1, 2)", std::string(7, 'x')), "t.npy")).find("t.npy ends after") == 0);
  CHECK(refusal(parse_npy_table("t", file("<i2", "()", "xx"), "t.npy")).find("has 0 dimensions") != std::string::npos);
  CHECK(refusal(parse_npy_table("t", file("<i2", "(2, 0)", ""), "t.npy")).find("has 0 elements") != std::string::npos);
  CHECK(refusal(parse_npy_table("t", file("|i1", "(67108864,)", "x"), "t.npy")).find("t.npy ends after") == 0);
  CHECK(refusal(parse_npy_table("t", file("|i1", "(67108865,)", "x"), "t.npy")).find("a table has 1 to 67108864") !=
        std::string::npos);
  const auto csv = [](const char* text) { return parse_csv_table("t", text, "t.csv"); };
  CHECK(csv("2147483647,-2147483648")->integers == std::vector<std::int32_t>{2147483647, std::numeric_limits<std::int32_t>::min()});
  CHECK(refusal(csv("1\n2147483648")) == "t.csv, line 2: 2147483648 does not fit 32 bits");
  CHECK(refusal(csv("-2147483649")) == "t.csv, line 1: -2147483649 does not fit 32 bits");
  CHECK(csv("0.5,2147483648")->reals == std::vector<float>{0.5F, 2147483648.0F});
  CHECK(csv("true,False,+3,false,True")->integers == std::vector<std::int32_t>{1, 0, 3, 0, 1});
  CHECK(csv("1\n2")->shape == std::vector<std::int64_t>{2});
  CHECK(csv("1,2")->shape == std::vector<std::int64_t>{2});
  CHECK(csv("inf,1")->type == ValueType::real);
}

TEST_CASE("expression: tables come from CSV and .npy") {
  const auto csv = parse_csv_table("t", "1, 2, 3\n4, 5, 6\n", "t.csv");
  REQUIRE(csv);
  CHECK(csv->shape == std::vector<std::int64_t>{2, 3});
  CHECK(csv->type == ValueType::integer);
  const auto column = parse_csv_table("t", "# ids\n0\n0\n1.5\n", "t.csv");
  REQUIRE(column);
  CHECK(column->shape == std::vector<std::int64_t>{3});
  CHECK(column->reals == std::vector<float>{0, 0, 1.5F});
  CHECK(parse_csv_table("t", "1,2\n3\n", "t.csv").error().sentence.text() ==
        "t.csv, line 2: 1 numbers, but the lines before have 2");
  CHECK(parse_csv_table("t", "1,x\n", "t.csv").error().sentence.text() == "t.csv, line 1: 'x' is not a number");
  CHECK(parse_csv_table("t", "nan\n", "t.csv").error().sentence.text() == "t.csv, line 1: 'nan' is not a number");
  CHECK(parse_csv_table("t", "", "t.csv").error().sentence.text() == "t.csv has no numbers: a table needs at least one");

  const auto npy = [](const std::string& dictionary, const std::string& data) {
    std::string text = "\x93NUMPY\x01";
    text += '\0';
    text += static_cast<char>(dictionary.size());
    text += '\0';
    return text + dictionary + data;
  };
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }\n";
  const auto made = parse_npy_table("t", npy(header, std::string("\x01\0\x02\0\xff\xff\x04\0", 8)), "t.npy");
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  CHECK(made->shape == std::vector<std::int64_t>{2, 2});
  CHECK(made->integers == std::vector<std::int32_t>{1, 2, -1, 4});
  const auto half = parse_npy_table(
      "t", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", std::string("\0\x3c\0\xfc", 4)), "t.npy");
  REQUIRE(half);
  CHECK(half->reals == std::vector<float>{1, -HUGE_VALF});
  // Any byte but zero is true.
  const auto flags = parse_npy_table(
      "t", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }\n", std::string("\0\x01\0\x07", 4)), "t.npy");
  REQUIRE(flags);
  CHECK(flags->type == ValueType::boolean);
  CHECK(flags->integers == std::vector<std::int32_t>{0, 1, 0, 1});
  CHECK(parse_npy_table("t", npy(header, "xx"), "t.npy").error().sentence.text().find("t.npy ends after") == 0);
  CHECK(parse_npy_table("t", "1,2,3", "t.npy").error().sentence.text() == "t.npy is not a .npy file: save it with numpy.save");
  CHECK(parse_npy_table("t", npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", std::string(16, 'x')), "t.npy")
            .error()
            .sentence.text()
            .find("'<c8'") != std::string::npos);
  CHECK(parse_npy_table("t", npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }\n", std::string(8, 'x')), "t.npy")
            .error()
            .sentence.text()
            .find("Fortran") != std::string::npos);
  CHECK(parse_npy_table("t", npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2, 1, 1, 1), }\n", std::string(8, 'x')),
                        "t.npy")
            .error()
            .sentence.text()
            .find("5 dimensions") != std::string::npos);
}

TEST_CASE("expression: both evaluators agree on random masks and scores, and text printed from one parses to the same") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int checked = 0;
  for (int round = 0; round < expression_count(3000); ++round) {
    const RandomScope scope = random_scope(random);
    const bool mask = round % 2 == 0;
    RandomExpression generator(random, !mask);
    const int depth = 1 + static_cast<int>(random() % 4);
    const std::string text = mask ? generator.condition(depth) : generator.real(depth);
    CAPTURE(text);
    const auto parse = [&](const std::string& from) {
      return mask ? parse_mask_expression(from, scope.sizes, scope.tables)
                  : parse_score_expression(from, scope.sizes, scope.tables);
    };
    const auto expression = parse(text);
    if (!expression) {  // constant parts may divide by zero or leave a table; nothing else is wrong with what is drawn
      const std::string& why = expression.error().sentence.text();
      const bool expected = why.find("divides by zero") != std::string::npos || why.find("is outside") != std::string::npos ||
                            why.find("an int has 32 bits") != std::string::npos ||
                            why.find("a shift is by 0 to 31 bits") != std::string::npos;
      CHECK_MESSAGE(expected, why);
      continue;
    }
    const std::string printed = to_text(*expression);
    CAPTURE(printed);
    const auto again = parse(printed);
    REQUIRE_MESSAGE(again, (again ? std::string() : again.error().sentence.text()));
    ++checked;
    ExpressionEvaluator<float> reference(*expression), reprinted(*again);
    RowEvaluator rows(*expression);
    const std::int64_t b = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.batch));
    const std::int64_t h = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.heads));
    const std::int64_t first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.seq_kv));
    const std::int64_t count = std::min<std::int64_t>(scope.sizes.seq_kv - first, 1 + static_cast<std::int64_t>(random() % 40));
    std::vector<float> scores(static_cast<std::size_t>(count));
    for (float& score : scores) score = std::normal_distribution<float>(0, 3)(random);
    rows.set_plane(b, h);
    rows.set_keys(first, count);
    for (int query = 0; query < 3; ++query) {
      const std::int64_t q = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.seq_q));
      const auto conditions = mask ? rows.conditions(q) : std::span<const std::int32_t>();
      const auto changed = mask ? std::span<const float>() : rows.scores(q, scores);
      const bool suspects = mask ? conditions.empty() : changed.empty();
      for (std::size_t i = 0; i < scores.size(); ++i) {
        const ExprElement element{b, h, q, first + static_cast<std::int64_t>(i)};
        const ExprValue<float> expected = reference(element, scores[i]);
        const ExprValue<float> second = reprinted(element, scores[i]);
        REQUIRE(second.fault == expected.fault);
        if (expected.fault) {
          REQUIRE(suspects);
          REQUIRE_FALSE(reference.fault(element).empty());
          continue;
        }
        if (mask) REQUIRE(second.integer == expected.integer);
        if (!mask) REQUIRE(same_bits(second.real, expected.real));
        if (suspects) continue;
        if (mask) REQUIRE(conditions[i] == expected.integer);
        if (!mask) REQUIRE(same_bits(changed[i], expected.real));
      }
    }
  }
  CHECK(checked > 0);
}

TEST_CASE("expression: text with random damage is answered with a sentence or parsed, and never anything else") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::string alphabet = "qkvbhNKD0123456789.+-*/%&|^~<>=!?:()[],; let in sum any doc score";
  for (int round = 0; round < expression_count(3000); ++round) {
    RandomExpression generator(random, true);
    std::string text = generator.real(3);
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1 + random() % 3);
          break;
        case 1:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        default:
          text[at] = static_cast<char>(random() % 256);
      }
    }
    CAPTURE(text);
    const auto made = parse_score_expression(text, small_sizes, tables());
    if (made) {
      ExpressionEvaluator<double> evaluator(*made);
      evaluator({1, 3, 31, 47}, 0.25);
    } else {
      CHECK(made.error().sentence.text().find('\n') == std::string::npos);
      CHECK(made.error().sentence.text().size() < 300);
    }
  }
}

TEST_CASE("expressions: in its own words an expression names what occurs more than once or is long, and nothing else") {
  const ExprSizes sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  const auto printed = [&](const std::string& text, const TableList& tables = {}) {
    const auto expression = parse_mask_expression(text, sizes, tables);
    REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
    return to_text(*expression);
  };
  CHECK(printed("q>=kv&&q<7") == "q >= kv && q < 7");
  CHECK(printed("(q + kv) * (q + kv) < 9") == "let t1 = q + kv; t1 * t1 < 9");
  CHECK(printed("(q - kv) // 2 == 3 || (q - kv) // 2 == h") == "let t1 = (q - kv) // 2; t1 == 3 || t1 == h");
  const TableList tables = {std::make_shared<const CapturedTable>(make_table("t1", {1, 2, 3, 4}))};
  CHECK(printed("(q + kv) * (q + kv) < t1[h]", tables) == "let t2 = q + kv; t2 * t2 < t1[h]");
  // 2 + 3 n characters of a sum of n + 1 names: up to 120 it is no name of its own.
  for (const int more : {38, 39, 40, 41, 80, 200}) {
    std::string sum = "q";
    for (int n = 0; n < more; ++n) sum += n % 2 == 0 ? " + q" : " - h";
    const std::string text = printed(sum + " < kv");
    CAPTURE(text);
    std::size_t longest = 0, begin = 0;
    for (std::size_t end = text.find("; "); end != std::string::npos; begin = end + 2, end = text.find("; ", begin))
      longest = std::max(longest, end - begin);
    const std::size_t rest = text.size() - begin;
    CHECK(longest <= std::string("let t1 = ").size() + 120 + 4);
    CHECK(rest <= 120 + 4 + 5);
    CHECK((text.find("let") == std::string::npos) == (sum.size() <= 120));
  }
}

}  // namespace tilescope
