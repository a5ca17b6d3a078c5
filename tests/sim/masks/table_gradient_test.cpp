// Gradients of captured tables: the factor of each read, where its index leads, and what is refused.
#include "sim/masks/table_gradient.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/masks/derivative.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/kernel_source.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/score_change.h"
#include "tests/sim/masks/parts_of_expression.h"
#include "tests/sim/masks/random_expression.h"

namespace tilescope::table_gradient_tests {
namespace {

std::shared_ptr<const CapturedTable> reals(std::string name, std::vector<std::int64_t> shape) {
  CapturedTable table;
  table.name = std::move(name);
  table.type = ValueType::real;
  table.shape = std::move(shape);
  std::int64_t count = 1;
  for (const std::int64_t length : table.shape) count *= length;
  for (std::int64_t i = 0; i < count; ++i) table.reals.push_back(static_cast<float>(std::sin(static_cast<double>(i))));
  return std::make_shared<const CapturedTable>(std::move(table));
}

constexpr ExprSizes sizes = {.batch = 2, .heads = 3, .kv_heads = 3, .seq_q = 20, .seq_kv = 26, .head_dim = 64};
const TableList& tables() {
  static const TableList all = {reals("row", {20}),         reals("column", {3, 26}),
                                reals("slope", {3}),        reals("relative", {45}),
                                reals("far", {3, 45}),      reals("pair", {20, 26}),
                                reals("flipped", {26, 20}), reals("small", {5}),
                                reals("K", {26}),           std::make_shared<const CapturedTable>(make_table("whole", {1, 2, 3}))};
  return all;
}

Expression score(const std::string& text) {
  auto parsed = parse_score_expression(text, sizes, tables());
  REQUIRE_MESSAGE(parsed, (parsed ? std::string() : parsed.error().sentence.text()));
  return std::move(*parsed);
}
std::vector<TableGradient> gradients(const std::string& text, const std::vector<TableGradientChoice>& wanted) {
  auto made = table_gradients(score(text), wanted);
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  return std::move(*made);
}
std::string refusal(const std::string& text, const std::vector<TableGradientChoice>& wanted) {
  const auto made = table_gradients(score(text), wanted);
  REQUIRE_FALSE(made);
  return made.error().sentence.text();
}

/// The element that a read of the table's first read meets, by the index as it stands in the text.
std::int64_t met(const TableRead& read, const ExprElement& at) {
  return ExpressionEvaluator<float>(read.index)(at).integer;
}

}  // namespace

TEST_CASE("table gradients: the elements that a block meets follow from its rows only if no index leaves the table") {
  const auto is_exact = [](const std::string& text) { return gradients(text, {{"pair", false}})[0].reads[0].is_exact(); };
  CHECK(is_exact("score + pair[q, kv]"));
  CHECK_FALSE(is_exact("score + pair[q + 1, kv]"));
  CHECK_FALSE(is_exact("score + pair[q, kv + 1]"));
  CHECK_FALSE(is_exact("score + pair[q, kv - 1]"));
}

TEST_CASE("table gradients: what an index moves with decides how a block adds up") {
  const struct {
    const char *text, *table;
    TableReach reach;
    int per_query, per_key;
  } cases[] = {{"score + slope[h] * (kv - q)", "slope", TableReach::head, 0, 0},
               {"score * slope[whole[b]]", "slope", TableReach::head, 0, 0},
               {"score + row[q]", "row", TableReach::query, 1, 0},
               {"score + row[N - 1 - q]", "row", TableReach::query, -1, 0},
               {"score + column[h, kv]", "column", TableReach::key, 0, 1},
               {"score + relative[q - kv + NK - 1]", "relative", TableReach::distance, 1, -1},
               {"score + far[h, kv - q + N - 1]", "far", TableReach::distance, -1, 1},
               {"score + pair[q, kv]", "pair", TableReach::pair, 0, 0},
               {"score + flipped[kv, q]", "flipped", TableReach::pair, 0, 0},
               {"score + small[clamp(q - kv, -2, 2) + 2]", "small", TableReach::pair, 0, 0},
               {"score + row[q // 2 + h * 3]", "row", TableReach::pair, 0, 0}};
  for (const auto& one : cases) {
    CAPTURE(one.text);
    const std::vector<TableGradient> made = gradients(one.text, {{one.table}});
    REQUIRE(made.size() == 1);
    REQUIRE(made[0].reads.size() == 1);
    CHECK(made[0].reads[0].reach == one.reach);
    CHECK(made[0].reads[0].per_query == one.per_query);
    CHECK(made[0].reads[0].per_key == one.per_key);
    CHECK(made[0].rows() * made[0].cols() == made[0].table->elements());
  }
}

TEST_CASE("table gradients: a tile's box holds every element that its scores read, and no other where it says so") {
  std::mt19937 random(3);
  for (const char* text :
       {"score + slope[h]", "score + row[q]", "score + row[N - 1 - q]", "score + column[h, kv]",
        "score + relative[q - kv + NK - 1]", "score + far[h, kv - q + N - 1]", "score + pair[q, kv]", "score + flipped[kv, q]",
        "score + small[clamp(q - kv, -2, 2) + 2]", "score + row[q // 2 + h * 3]", "where(q >= kv, score + small[q - kv], score)"}) {
    CAPTURE(text);
    const Expression expression = score(text);
    std::string name = std::string(text).substr(0, std::string(text).find('['));
    name = name.substr(name.find_last_of(' ') + 1);
    const std::vector<TableGradient> made = gradients(text, {{name}});
    const TableRead& read = made[0].reads[0];
    for (int round = 0; round < 40; ++round) {
      const auto range = [&](std::int64_t length) {
        const auto first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length));
        return TileRange{first, 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length - first))};
      };
      const TileRange queries = range(20), keys = range(26);
      const auto plane = static_cast<std::int64_t>(random() % 6);
      const TableBox box = read.box(plane, queries, keys);
      std::set<std::int64_t> seen;
      for (std::int64_t q = queries.first; q < queries.end(); ++q)
        for (std::int64_t kv = keys.first; kv < keys.end(); ++kv)
          if (const std::int64_t element = met(read, {plane / 3, plane % 3, q, kv}); element >= 0) {
            const std::int64_t row = element / made[0].cols() - box.row, col = element % made[0].cols() - box.col;
            CHECK((row >= 0 && row < box.rows && col >= 0 && col < box.cols));
            seen.insert(element);
          }
      if (read.is_exact()) CHECK(static_cast<std::int64_t>(seen.size()) == (box.empty() ? 0 : box.rows * box.cols));
    }
  }
}

TEST_CASE("table gradients: sums that are kept apart have a place of their own for each block, or pair of tiles, that makes them") {
  AttentionProblem problem = {.batch = 2, .heads = 3, .kv_heads = 3, .seq_q = 20, .seq_kv = 26, .head_dim = 64};
  const TileShape tile{8, 10};
  const struct {
    const char *text, *table;
    std::int64_t rows, cols, filled;
    bool by_pair;
  } cases[] = {{"score + slope[h] * (kv - q)", "slope", 6, 3, 6 * 3, false},
               {"score + row[q]", "row", 6, 20, 6 * 20, false},
               {"score + column[h, kv]", "column", 6 * 3, 26, 6 * 3 * 26, true},
               // Tiles of 8, 8 and 4 queries and of 10, 10 and 6 keys have one distance fewer than both together.
               {"score + relative[q - kv + NK - 1]", "relative", 6 * 3, 3 * (8 + 10), 6 * (3 * (20 + 26) - 9), true}};
  for (const auto& one : cases) {
    CAPTURE(one.text);
    const TableParts parts(gradients(one.text, {{one.table}})[0].reads[0], problem, tile);
    CHECK(parts.rows() == one.rows);
    CHECK(parts.cols() == one.cols);
    std::set<std::pair<std::int64_t, std::int64_t>> taken;
    std::int64_t cells = 0;
    for (std::int64_t plane = 0; plane < 6; ++plane)
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < (one.by_pair ? 3 : 1); ++j) {
          const TileRange queries{i * 8, std::min<std::int64_t>(8, 20 - i * 8)},
              keys{j * 10, std::min<std::int64_t>(10, 26 - j * 10)};
          const TableBox box = parts.box(plane, i, queries, j, keys);
          CHECK(box.row + box.rows <= parts.rows());
          CHECK(box.col + box.cols <= parts.cols());
          cells += box.rows * box.cols;
          for (std::int64_t row = box.row; row < box.row + box.rows; ++row)
            for (std::int64_t col = box.col; col < box.col + box.cols; ++col) taken.insert({row, col});
        }
    CHECK(cells == one.filled);
    CHECK(static_cast<std::int64_t>(taken.size()) == cells);
  }
}

TEST_CASE("table gradients: the shares of the zeros are the whole table, once") {
  for (const std::int64_t rows : {1, 2, 7, 40})
    for (const std::int64_t cols : {1, 3, 45, 500})
      for (const std::int64_t blocks : {1, 2, 6, 40, 41, 97}) {
        std::vector<int> times(static_cast<std::size_t>(rows * cols));
        for (std::int64_t n = 0; n < blocks; ++n) {
          const TableBox share = table_share(rows, cols, n, blocks);
          if (share.empty()) continue;
          for (std::int64_t r = 0; r < share.rows; ++r)
            for (std::int64_t c = 0; c < share.cols; ++c) ++times[static_cast<std::size_t>((share.row + r) * cols + share.col + c)];
        }
        CHECK(std::ranges::all_of(times, [](int n) { return n == 1; }));
      }
}

TEST_CASE("table gradients: a factor that is the derivative by the score is not computed twice, and one of 1 not at all") {
  const auto first = [](const char* text, const char* table) { return gradients(text, {{table}})[0].reads[0]; };
  CHECK_FALSE(first("score + row[q]", "row").factor);
  CHECK_FALSE(first("score + row[q]", "row").takes_slope);
  CHECK(first("20 * tanh((score + row[q]) / 20)", "row").takes_slope);
  CHECK_FALSE(first("20 * tanh((score + row[q]) / 20)", "row").factor);
  CHECK(first("score + slope[h] * (kv - q)", "slope").factor);
  CHECK(first("2 * score + row[q]", "row").factor == std::nullopt);
  CHECK(first("score * slope[h]", "slope").factor);
  const std::vector<TableGradient> twice = gradients("score + row[q] + row[N - 1 - q] + column[h, kv]", {{"row"}, {"column"}});
  REQUIRE(twice.size() == 2);
  CHECK(twice[0].reads.size() == 2);
  CHECK(twice[1].reads.size() == 1);
}

TEST_CASE(
    "table gradients: the kernel keeps a factor for later where the scores have a slope or the factor needs them, and numbers it") {
  const char* const scores[] = {"score + row[q]", "score + slope[h] * (kv - q)", "score * slope[h] + row[q]",
                                "score * row[q] + score * column[h, kv] * 2",
                                "score + slope[h] * (kv - q) + score * row[q] + 3 * column[h, kv] + far[h, kv - q + N - 1]"};
  int kept = 0, at_once = 0;
  for (const char* text : scores)
    for (const bool has_slope : {false, true}) {
      CAPTURE(std::string(text));
      CAPTURE(has_slope);
      std::vector<TableGradientChoice> chosen;
      for (const char* name : {"row", "slope", "column", "far"})
        if (std::string(text).find(std::string(name) + "[") != std::string::npos) chosen.push_back({name});
      const std::vector<TableGradient> made = gradients(text, chosen);
      const auto score = parse_score_expression(text, sizes, tables());
      REQUIRE(score);
      const Expression slope = derivative_by_score(*score);
      const std::string source = backward_kernel_source(nullptr, &*score, has_slope ? &slope : nullptr, made).text();
      int number = 0, weight = 0;
      for (std::size_t table = 0; table < made.size(); ++table)
        for (const TableRead& read : made[table].reads) {
          const bool waits = read.factor && (has_slope || (read.factor->dependence() & depends_on_score) != 0);
          const bool rises = read.reach == TableReach::key ? read.per_key > 0 : read.per_query > 0;
          const std::size_t begin = source.find(fmt::format("struct FlexRead{} {{", number));
          REQUIRE(begin != std::string::npos);
          const std::string one = source.substr(begin, source.find("};", begin) - begin);
          CAPTURE(one);
          CHECK(one.find(fmt::format("int table = {}, number = {}, weight = {};", table, number, weight)) != std::string::npos);
          CHECK(one.find(fmt::format("bool has_factor = {}, weighed = {}, rises = {},", read.factor && !waits, waits, rises)) !=
                std::string::npos);
          ++(waits ? kept : at_once);
          weight += waits ? 1 : 0;
          ++number;
        }
      CHECK(source.find(fmt::format("FlexRead{}", number)) == std::string::npos);
    }
  CHECK(kept > 5);
  CHECK(at_once > 5);
}

TEST_CASE("table gradients: what has none is refused with a sentence") {
  CHECK(refusal("score + row[q]", {{"rows"}}) == "table_gradient: there is no table 'rows': name one of table");
  CHECK(refusal("score * whole[b]", {{"whole"}}) ==
        "table_gradient: table whole holds ints, which have no gradient: save it as a .npy file of floats");
  CHECK(refusal("score + K[kv]", {{"K"}}) == "table_gradient: dK is another gradient: give table K another name");
  const std::string steers = "table_gradient: no score changes with the numbers of table row, so it has no gradient";
  CHECK(refusal("score", {{"row"}}) == steers);
  CHECK(refusal("where(row[q] > 0, score, 2 * score)", {{"row"}}) == steers);
  CHECK(refusal("score + column[h, int(row[q]) % NK]", {{"row"}}) == steers);
  CHECK(refusal("score + floor(row[q])", {{"row"}}) == steers);
  CHECK(refusal("score + row[q]", {{"row"}, {"row"}}) == "table_gradient names table row twice");
  CHECK(refusal("score + sum(i in 0..9: row[i] * i * q)", {{"row"}}).find("at more than 8 places") != std::string::npos);
  CHECK(refusal("score + row[q] + slope[h] + column[h, kv] + relative[q - kv + NK - 1] + far[h, 0]",
                {{"row"}, {"slope"}, {"column"}, {"relative"}, {"far"}})
            .find("at most 4 tables, read at 8 places, not 5 at 5") != std::string::npos);
  // Eight places are not too many, in one table or in several, and neither are four tables.
  const auto taken = [](const std::string& text, const std::vector<TableGradientChoice>& wanted) {
    return static_cast<bool>(table_gradients(score(text), wanted));
  };
  CHECK(taken("score + sum(i in 0..8: row[i] * (i + 1) * q)", {{"row"}}));
  CHECK(taken("score + row[q] + slope[h] + column[h, kv] + far[h, 0]", {{"row"}, {"slope"}, {"column"}, {"far"}}));
  CHECK(taken("score + sum(i in 0..4: (row[i] + far[h, i]) * (i + 1) * q)", {{"row"}, {"far"}}));
  CHECK(refusal("score + sum(i in 0..5: row[i] * (i + 1) * q) + sum(i in 5..9: row[i] * q) + slope[h]", {{"row"}, {"slope"}})
            .find("at more than 8 places") != std::string::npos);
  CHECK(refusal("score + sum(i in 0..8: row[i] * (i + 1) * q) + slope[h]", {{"row"}, {"slope"}}).find("not 2 at 9") !=
        std::string::npos);
  CHECK(refusal("score + pair[q, kv]", {{"pair", true}}).find("in_order needs an index that moves by 1") != std::string::npos);

  CHECK(parse_table_gradient("bias")->name == "bias");
  CHECK_FALSE(parse_table_gradient("bias")->in_order);
  CHECK(parse_table_gradient("bias:in_order")->in_order);
  for (const char* nameless : {"", ":in_order"})
    CHECK(parse_table_gradient(nameless).error().sentence ==
          "table_gradient '" + std::string(nameless) + "': write NAME or NAME:in_order");
  CHECK(parse_table_gradient("bias:sorted").error().sentence == "table_gradient 'bias:sorted': write NAME or NAME:in_order");
}

TEST_CASE("table gradients: a choice belongs to a backward pass and to a score") {
  AttentionProblem problem = {.heads = 3, .kv_heads = 3, .seq_q = 20, .seq_kv = 26, .pass = Pass::backward};
  MaskChoice choice{.score = "score + row[q]", .tables = tables(), .table_gradients = {"row"}};
  REQUIRE(settle_masks(choice, problem));
  CHECK(problem.score_change->table_gradients().size() == 1);
  problem.pass = Pass::forward;
  CHECK(settle_masks(choice, problem).error().sentence == "table_gradient is made by the backward pass: pass is forward");
  choice.score.clear();
  CHECK(settle_masks(choice, problem).error().sentence ==
        "table_gradient is for tables that score or a preset reads: give one of them");
}

TEST_CASE("table gradients: random score expressions agree with finite differences wherever these settle") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int compared = 0;
  for (int round = 0; round < expression_count(3000); ++round) {
    RandomScope scope = random_scope(random);
    auto uneven = std::make_shared<CapturedTable>(*scope.tables.back());  // away from corners at round numbers
    for (float& value : uneven->reals) value += std::uniform_real_distribution<float>(0.01F, 0.2F)(random);
    scope.tables.back() = uneven;
    RandomExpression generator(random, true);
    const std::string text = generator.real(2 + static_cast<int>(random() % 3));
    CAPTURE(text);
    const auto expression = parse_score_expression(text, scope.sizes, scope.tables);
    if (!expression) continue;
    const auto made = table_gradients(*expression, {{"slope"}});
    const ExprElement at{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.batch)),
                         static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.heads)),
                         static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.seq_q)),
                         static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scope.sizes.seq_kv))};
    const double score = std::normal_distribution<double>(0, 2)(random);
    // The table's numbers are floats: a step must be one that they can take.
    const std::int64_t element = at.b * scope.sizes.heads + at.h;
    const auto moved_by = [&](float step) {
      auto changed = std::make_shared<CapturedTable>(*scope.tables.back());
      changed->reals[static_cast<std::size_t>(element)] += step;
      Expression moved = *expression;
      moved.tables.back() = changed;
      return moved;
    };
    const auto with = [&](float step) {
      const Expression moved = moved_by(step);
      const ExprValue<double> value = ExpressionEvaluator<double>(moved)(at, score);
      return value.fault ? std::nan("") : value.real;
    };
    const auto difference = [&](float step) { return (with(step) - with(-step)) / (2.0 * static_cast<double>(step)); };
    const double wide = difference(0x1p-10F), narrow = difference(0x1p-13F), closest = difference(0x1p-17F);
    const double size = std::max({1.0, std::abs(narrow), std::abs(with(0))});
    if (!std::isfinite(narrow) || std::abs(wide - narrow) > 1e-5 * size || std::abs(narrow - closest) > 1e-4 * size) continue;
    if (std::abs(with(0)) > 1e6) continue;  // so large that it rounds the change of a summand away
    const auto parts = [&](float step) { return parts_of(moved_by(step), at, score); };
    if (rounds_a_change_away(*expression, parts(-0x1p-13F), parts(0x1p-13F))) continue;
    double sum = 0;
    if (made)
      for (const TableRead& read : (*made)[0].reads) {
        CHECK(met(read, at) == element);
        const Expression slope = read.factor ? *read.factor : *expression;
        sum += read.factor ? ExpressionEvaluator<double>(slope)(at, score).real : 1.0;
      }
    if (made && std::ranges::any_of((*made)[0].reads, [](const TableRead& read) { return read.takes_slope; })) continue;
    if (!std::isfinite(sum)) continue;
    CHECK(std::abs(sum - narrow) <= 1e-4 * size);
    ++compared;
  }
  CHECK(compared > expression_count(3000) / 20);
}

}  // namespace tilescope::table_gradient_tests
