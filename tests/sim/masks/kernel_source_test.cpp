// The CUDA that the flex kernel calls: where each part of an expression is computed, and what is an argument.
#include "sim/masks/kernel_source.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace tilescope {
namespace {

constexpr ExprSizes source_sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 512, .seq_kv = 512, .head_dim = 64};

TableList documents() {
  std::vector<std::int32_t> doc;
  for (int i = 0; i < 512; ++i) doc.push_back(i / 100);
  return {std::make_shared<const CapturedTable>(make_table("doc", doc))};
}

KernelSource source_of(const std::string& mask, const std::string& score = {}) {
  std::optional<Expression> parsed_mask, parsed_score;
  if (!mask.empty()) {
    auto parsed = parse_mask_expression(mask, source_sizes, documents());
    REQUIRE(parsed);
    parsed_mask = std::move(*parsed);
  }
  if (!score.empty()) {
    auto parsed = parse_score_expression(score, source_sizes, documents());
    REQUIRE(parsed);
    parsed_score = std::move(*parsed);
  }
  return kernel_source(parsed_mask ? &*parsed_mask : nullptr, parsed_score ? &*parsed_score : nullptr);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("kernel source: another constant gives the same text and another argument") {
  const KernelSource narrow = source_of("let w = 64; q >= kv && q - kv <= w"),
                     wide = source_of("let w = 300; q >= kv && q - kv <= w");
  CHECK(narrow.text() == wide.text());
  REQUIRE(narrow.scalars.size() == 1);
  CHECK(narrow.scalars[0] == 64);
  CHECK(wide.scalars[0] == 300);
  CHECK(source_of("q // 7 == kv // 7").text() == source_of("q // 100 == kv // 100").text());
  CHECK(source_of("", "20 * tanh(score / 20)").text() == source_of("", "50 * tanh(score / 50)").text());
}

TEST_CASE("kernel source: a division by a constant is a product with its inverse; other divisions stay") {
  const auto divides = [](const std::string& text) { return has(text, " / ") || has(text, "divide"); };
  CHECK_FALSE(divides(source_of("", "tanh(score) / 8").text()));
  CHECK(source_of("", "tanh(score) / 8").text() == source_of("", "tanh(score) / 32").text());
  CHECK(divides(source_of("", "1 / (1 + abs(score))").text()));
}

TEST_CASE(
    "kernel source: a score over a constant has the text of its product with the inverse, and a constant over a score has not") {
  for (const char* more : {"", " + q - kv", " * 3"}) {
    const auto text = [&](const std::string& score) { return source_of("", score + more).text(); };
    CAPTURE(text("score / 4"));
    CAPTURE(text("score * 0.25"));
    CHECK(text("score / 4") == text("score * 0.25"));
    CHECK(text("4 / score") != text("score / 4"));
    CHECK(text("score / h") != text("score / 4"));
  }
}

TEST_CASE("kernel source: a comparison of a query and a key is one comparison with a constant") {
  const std::string text = source_of("q >= kv && q - kv <= 64").text();
  CHECK(has(text, ">= 1 * column.place"));
  CHECK(has(text, "<= 1 * column.place"));
  CHECK_FALSE(has(text, "expr_subtract"));
}

TEST_CASE("kernel source: a table at the query is read once a block, at the key once a tile") {
  const KernelSource source = source_of("doc[q] == doc[kv]");
  CHECK(source.rows == 1);
  CHECK(source.columns == 1);
  CHECK(source.uniforms == 0);
  REQUIRE(source.reads.size() == 2);
  CHECK(source.tables.size() == 1);
  for (const KernelTableRead& read : source.reads) {
    CHECK(read.of_mask);
    CHECK((read.level == KernelLevel::row || read.level == KernelLevel::column));
  }
}

TEST_CASE("kernel source: the words of a table are read as its type") {
  CapturedTable factors, flags;
  factors.name = "factor";
  factors.type = ValueType::real;
  factors.reals.assign(512, 0.5F);
  flags.name = "flag";
  flags.type = ValueType::boolean;
  flags.integers.assign(512, 1);
  factors.shape = flags.shape = {512};
  TableList tables = documents();
  tables.push_back(std::make_shared<const CapturedTable>(factors));
  tables.push_back(std::make_shared<const CapturedTable>(flags));
  const auto text_of = [&](const std::string& mask) {
    const auto parsed = parse_mask_expression(mask, source_sizes, tables);
    REQUIRE(parsed);
    return kernel_source(&*parsed, nullptr).text();
  };
  constexpr std::string_view real = "__uint_as_float(expr_word(", integer = "(int)expr_word(", flag = "(expr_word(";
  const std::string factor_text = text_of("factor[kv] > 0.25"), doc_text = text_of("doc[kv] > 3"), flag_text = text_of("flag[kv]");
  CHECK(has(factor_text, real));
  CHECK_FALSE(has(factor_text, integer));
  CHECK(has(doc_text, integer));
  CHECK_FALSE(has(doc_text, real));
  CHECK(has(flag_text, flag));
  CHECK_FALSE(has(flag_text, integer));
  CHECK_FALSE(has(flag_text, real));
}

TEST_CASE("kernel source: the kernel takes the reciprocal of a tanh or sigmoid that every score needs, and of no other") {
  constexpr std::string_view own = "expr_reciprocal_exp2(";
  const auto count = [&](const std::string& score) {
    const std::string text = source_of("", score).text();
    int found = 0;
    for (std::size_t at = text.find(own); at != std::string::npos; at = text.find(own, at + 1)) ++found;
    return found;
  };
  const int without = count("score");
  for (const char* left_to_the_kernel :
       {"20 * tanh(score / 20)", "tanh(score)", "tanh(score) + q", "sigmoid(score) * kv", "-tanh(score)"})
    CHECK_MESSAGE(count(left_to_the_kernel) == without, left_to_the_kernel);
  for (const char* its_own : {"max(tanh(score), 0.5)", "min(tanh(score), 0.5)", "q > kv ? tanh(score) : 0.5",
                              "tanh(score) > 0.5 ? score : 0.5", "max(tanh(score) + q, 0.5)", "tanh(sigmoid(score))"})
    CHECK_MESSAGE(count(its_own) == without + 1, its_own);
}

TEST_CASE("kernel source: only a soft-capped score is left as its reciprocal, and only a scaled raw score hides as zero") {
  constexpr std::string_view factor = "has_factor = true", scales = "scales_raw = true";
  for (const char* capped : {"20 * tanh(score / 20)", "tanh(score / 20) * 20", "tanh(score)"}) {
    CHECK_MESSAGE(has(source_of("", capped).text(), factor), capped);
    CHECK_MESSAGE(has(source_of("", capped).text(), scales), capped);
  }
  // A negative cap would turn the maximum into a minimum, and what follows the cap would miss its constant.
  for (const char* changed : {"-20 * tanh(score / 20)", "20 * tanh(score / 20) + q", "q * tanh(score)", "sigmoid(score)", "score"})
    CHECK_FALSE_MESSAGE(has(source_of("", changed).text(), factor), changed);
  CHECK(source_of("", "20 * tanh(score / 20)").shares_reciprocals);
  CHECK_FALSE(source_of("", "score + (q - kv)").shares_reciprocals);
  // Other numbers in the exponent may be NaN where the score is hidden.
  for (const char* other : {"20 * tanh((score + q) / 20)", "tanh(score / kv)", "max(tanh(score), 0.5) + sigmoid(score / kv)"})
    CHECK_FALSE_MESSAGE(has(source_of("", other).text(), scales), other);
}

TEST_CASE("kernel source: ALiBi's slope is computed once a block, and the distance as a float sum") {
  const KernelSource source = source_of("", "score + exp2(-8.0 * (h + 1) / H) * (kv - q)");
  CHECK(source.uniforms == 1);
  CHECK(has(source.text(), "(float)(1 * column.place)"));
  CHECK_FALSE(has(source.text(), "    int d"));  // nor is it an int first
  // The slope times the distance from the row's first key is a number of the row.
  CHECK(has(source.text(), "row.m"));
  CHECK(has(source_of("", "score + (kv - q) * 0.125").text(), "row.m"));
  CHECK_FALSE(has(source_of("", "score + exp2(-0.01 * q) * (kv - q)").text(), "row.m"));  // the slope is the row's own
  CHECK_FALSE(has(source_of("", "score + exp2(-8.0 * (h + 1) / H) * tanh(kv - q)").text(), "row.m"));
}

TEST_CASE("kernel source: a sum is computed in floats only where they hold every value of it") {
  CHECK(has(source_of("", "score + 0.5 * (kv - q * 100)").text(), "(float)(1 * column.place)"));
  CHECK_FALSE(has(source_of("", "score + 0.5 * (kv - q * 100000)").text(), "(float)(1 * column.place)"));
}

TEST_CASE("kernel source: the greatest magnitude of a part decides whether floats, or 32 bits, hold a sum with it") {
  // Rows and keys beyond the ends are computed too: 512 + 128 of each.
  struct Row {
    const char* part;
    std::int64_t greatest;
  };
  for (const Row& row : {Row{"q", 640},
                         {"-q", 640},
                         {"abs(q)", 640},
                         {"q + h", 644},
                         {"q - h", 644},
                         {"q * h", 2560},
                         {"q // 3", 641},
                         {"q % 7", 7},
                         {"q % (h + 7)", 11},
                         {"min(q, 30)", 640},
                         {"max(q, 900)", 900},
                         {"(q > 3 ? q : 700)", 700},
                         {"(q > 3 ? 700 : q)", 700},
                         {"doc[q]", 5},
                         {"h", 4},
                         {"b + H", 6},
                         {"B + 10 * HKV", 22},
                         {"D", 64}}) {
    CAPTURE(row.part);
    const auto with = [&](const char* form, std::int64_t factor) { return fmt::format(fmt::runtime(form), row.part, factor); };
    const std::int64_t of_floats = ((1 << 24) - 1 - 1280) / row.greatest, of_ints = ((1 << 30) - 1 - 1280 - 5) / row.greatest;
    const auto in_floats = [&](std::int64_t factor) {
      return has(source_of("", with("score + 0.5 * (kv - q - ({}) * {})", factor)).text(), "(float)(1 * column.place)");
    };
    if (of_floats + 1 < 1 << 22) {  // larger factors are not followed
      CHECK(in_floats(of_floats));
      CHECK_FALSE(in_floats(of_floats + 1));
    }
    const auto in_ints = [&](std::int64_t factor) {
      return has(source_of(with("kv - q - ({}) * {} > 5", factor)).text(), "> -1 * column.place");
    };
    if (of_ints + 1 < 1 << 22) {
      CHECK(in_ints(of_ints));
      CHECK_FALSE(in_ints(of_ints + 1));
    }
  }
  CHECK_FALSE(has(source_of("kv - (q << 1) > 5").text(), "> -1 * column.place"));  // nothing is known of a shift
}

TEST_CASE("kernel source: a part is kept in shared memory from so many instructions on, be it a row's, a column's or the block's") {
  for (int factors = 0; factors < 6; ++factors) {
    CAPTURE(factors);
    const auto source = [&](const std::string& name) {
      std::string product = name;
      for (int n = 0; n < factors; ++n) product += " * " + name;
      return source_of("", "score + (" + product + ")");
    };
    const int instructions = factors + 1;  // and the conversion to a float
    CHECK(source("q").rows == (instructions >= 4 ? 1 : 0));
    CHECK(source("kv").columns == (instructions >= 2 ? 1 : 0));
    CHECK(source("h").uniforms == (instructions >= 4 ? 1 : 0));
    CHECK(source("q").columns + source("q").uniforms + source("kv").rows + source("kv").uniforms == 0);
    // A constant is an argument; one that leaves 32 bits is refused.
    if (factors < 3) CHECK(source("N").rows + source("N").columns + source("N").uniforms == 0);
  }
  CHECK(source_of("", "score + q // (h + 1)").rows == 1);  // a division takes eight
}

TEST_CASE("kernel source: constants are arguments as far as there is room, and a gradient's text takes those of its score again") {
  std::string many = "score";
  for (int n = 0; n < 100; ++n) many += fmt::format(" + {}.25 * q", n);
  const KernelSource full = source_of("", many);
  CHECK(full.scalars.size() == 96);
  CHECK(has(full.text(), "scalars[95]"));
  CHECK_FALSE(has(full.text(), "scalars[96]"));
  const auto score = parse_score_expression("20 * tanh(score / 20) + 3.5 * q", source_sizes, {});
  const auto slope = parse_score_expression("tanh(score / 20) * 7.5 + 3.5 * q", source_sizes, {});
  REQUIRE(score);
  REQUIRE(slope);
  const KernelSource alone = kernel_source(nullptr, &*score), both = backward_kernel_source(nullptr, &*score, &*slope, {});
  REQUIRE(both.scalars.size() > alone.scalars.size());
  for (std::size_t n = 0; n < both.scalars.size(); ++n) {
    if (n < alone.scalars.size()) CHECK(both.scalars[n] == alone.scalars[n]);
    // Within one expression each constant has a place of its own; across them none has two.
    for (std::size_t before = 0; n >= alone.scalars.size() && before < alone.scalars.size(); ++before)
      CHECK(both.scalars[n] != both.scalars[before]);
  }
}

TEST_CASE("kernel source: every line of an expression names its column") {
  const KernelSource source = source_of("q >= kv && q - kv <= 64");
  std::size_t named = 0;
  for (const KernelSourceLine& line : source.mask) named += line.column > 0;
  CHECK(named >= 3);
}

}  // namespace tilescope
