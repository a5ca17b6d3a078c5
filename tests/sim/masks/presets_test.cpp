// Presets: every one parses, fits a problem and means what attention-gym's function of that name says.
#include "sim/masks/presets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/masks/block_mask.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"

namespace tilescope {
namespace {

constexpr std::int64_t n = 96, batch = 2, heads = 4, kv_heads = 2;
constexpr ExprSizes preset_sizes = {.batch = batch, .heads = heads, .kv_heads = kv_heads, .seq_q = n, .seq_kv = n, .head_dim = 16};

std::shared_ptr<const CapturedTable> filled(std::string name, std::vector<std::int64_t> shape,
                                            const std::function<double(std::int64_t)>& value, ValueType type = ValueType::integer) {
  CapturedTable table;
  table.name = std::move(name);
  table.shape = std::move(shape);
  table.type = type;
  std::int64_t count = 1;
  for (const std::int64_t length : table.shape) count *= length;
  for (std::int64_t i = 0; i < count; ++i)
    if (type == ValueType::real)
      table.reals.push_back(static_cast<float>(value(i)));
    else
      table.integers.push_back(static_cast<std::int32_t>(value(i)));
  return std::make_shared<const CapturedTable>(std::move(table));
}

/// Documents of 10, 20, 30 and 36 tokens; all other tables in the shapes that the presets say.
TableList preset_tables() {
  constexpr std::int64_t starts[] = {0, 10, 30, 60, 96};
  const auto document = [=](std::int64_t i) {
    return static_cast<double>(std::upper_bound(std::begin(starts), std::end(starts), i) - std::begin(starts) - 1);
  };
  const auto real = ValueType::real;
  return {filled("doc", {n}, document),
          filled("offsets", {5}, [=](std::int64_t i) { return static_cast<double>(starts[i]); }),
          filled("prefix_of", {4}, [](std::int64_t i) { return i >= 2 ? 1.0 : static_cast<double>(i); }),
          filled(
              "is_global", {n}, [](std::int64_t i) { return i % 17 == 0 ? 1.0 : 0.0; }, ValueType::boolean),
          filled("chosen", {batch, heads, 6, 8}, [](std::int64_t i) { return static_cast<double>(i * 5 % 7 % 6); }),
          filled("intervals", {6, 2}, [](std::int64_t i) { return static_cast<double>((i - i % 2) * 8 + i % 2 * 30); }),
          filled("ancestor", {n, n}, [](std::int64_t i) { return i / n % (i % n + 1) == 0 ? 1.0 : 0.0; }),
          filled(
              "bias", {2 * n - 1}, [](std::int64_t i) { return static_cast<double>(i) / 8; }, real),
          filled("distance", {batch, n, n}, [](std::int64_t i) { return static_cast<double>(i % 5); }),
          filled(
              "spatial", {heads, 5}, [](std::int64_t i) { return static_cast<double>(i) / 4; }, real),
          filled("path", {batch, n, n, 4}, [](std::int64_t i) { return static_cast<double>(i % 3); }),
          filled("path_length", {batch, n, n}, [](std::int64_t i) { return static_cast<double>(i % 6); }),
          filled(
              "edge", {heads, 4, 3}, [](std::int64_t i) { return static_cast<double>(i) / 2; }, real),
          filled(
              "q_rope", {batch, heads, n, 16}, [](std::int64_t i) { return std::sin(static_cast<double>(i)); }, real),
          filled(
              "k_rope", {batch, kv_heads, n, 16}, [](std::int64_t i) { return std::cos(static_cast<double>(i)); }, real)};
}

/// Parameters that suit 96 tokens: a canvas of 12 x 8 and the like.
std::string sized(std::string_view name) {
  if (name == "natten") return "natten:width=12,height=8,kernel=3";
  if (name == "natten_tiled") return "natten_tiled:width=12,height=8,kernel=3,tile=4";
  if (name == "natten_morton") return "natten_morton:width=12,height=8,kernel=3";
  if (name == "sta") return "sta:width=12,height=6,kernel=6,tile=2,text=24";
  if (name == "sta_video") return "sta_video:frames=2,width=6,height=6,kernel=2,tile=2,depth=1,text=24";
  if (name == "block_diffusion") return "block_diffusion:clean=48,size=8";
  if (name == "vsa") return "vsa:tile=16,top=3";
  if (name == "flamingo") return "flamingo:image=16";
  if (name == "svg_spatial" || name == "svg_temporal")
    return std::string(name) + ":prompt=8,frame=11" + (name == "svg_spatial" ? ",round=4" : "");
  if (name == "tree" || name == "draft_training" || name == "prefix_lm") return std::string(name) + ":prefix=30";
  if (name == "batchify") return "batchify:size=20";
  if (name == "fixed_documents") return "fixed_documents:length=21";
  if (name == "softcap") return "softcap:cap=30";
  if (name == "activation") return "activation:offset=2";
  if (name.find("window") != std::string_view::npos || name == "attention_sink") return std::string(name) + ":window=9";
  return std::string(name);
}

Expression mask_expression(const std::string& request) {
  const auto text = preset_text(request);
  REQUIRE_MESSAGE(text, (text ? std::string() : text.error().sentence.text()));
  auto made = parse_mask_expression(text->mask, preset_sizes, preset_tables());
  REQUIRE_MESSAGE(made, request, ": ", (made ? std::string() : made.error().sentence.text()));
  return *made;
}

double score(const std::string& request, const ExprElement& element, double before) {
  const auto text = preset_text(request);
  REQUIRE_MESSAGE(text, (text ? std::string() : text.error().sentence.text()));
  const auto made = parse_score_expression(text->score, preset_sizes, preset_tables());
  REQUIRE_MESSAGE(made, request, ": ", (made ? std::string() : made.error().sentence.text()));
  ExpressionEvaluator<double> evaluator(*made);
  const auto value = evaluator(element, before);
  REQUIRE_MESSAGE(!value.fault, request);
  return value.real;
}

using Wanted = std::function<bool(std::int64_t, std::int64_t)>;

/// The same masks, written here from their descriptions in attention-gym.
Wanted wanted(std::string_view name) {
  using I = std::int64_t;
  const auto near = [](I qx, I qy, I kx, I ky, I limit_x, I limit_y) {
    const I cx = std::clamp<I>(qx, 1, limit_x - 2), cy = std::clamp<I>(qy, 1, limit_y - 2);
    return std::abs(cx - kx) <= 1 && std::abs(cy - ky) <= 1;
  };
  const auto document = [](I i) { return i < 10 ? 0 : i < 30 ? 1 : i < 60 ? 2 : 3; };
  if (name == "causal") return [](I q, I k) { return q >= k; };
  if (name == "sliding_window") return [](I q, I k) { return k <= q && k >= q - 9; };
  if (name == "dilated_sliding_window") return [](I q, I k) { return std::abs(q - k) <= 9 && (q - k) % 2 == 0; };
  if (name == "global_sliding_window") return [](I q, I k) { return std::abs(q - k) <= 9 || q % 17 == 0 || k % 17 == 0; };
  if (name == "prefix_lm") return [](I q, I k) { return k < 30 || k <= q; };
  if (name == "attention_sink") return [](I q, I k) { return k <= q && (k < 4 || k >= q - 9); };
  if (name == "document") return [=](I q, I k) { return document(q) == document(k); };
  if (name == "document_causal" || name == "packed_causal") return [=](I q, I k) { return document(q) == document(k) && k <= q; };
  if (name == "fixed_documents") return [](I q, I k) { return q / 21 == k / 21; };
  if (name == "shared_prefix")
    return [=](I q, I k) { return (document(q) == document(k) && k <= q) || (document(q) >= 2 && document(k) == 1); };
  if (name == "batchify") return [](I q, I k) { return q / 20 == k / 20 && k <= q; };
  if (name == "block_diffusion")
    return [](I q, I k) {
      const bool noised_q = q < 48, noised_k = k < 48;
      const I block_q = q % 48 / 8, block_k = k % 48 / 8;
      if (noised_q && noised_k) return block_q == block_k;
      if (noised_q) return block_k < block_q;
      return !noised_k && block_k <= block_q;
    };
  if (name == "natten") return [=](I q, I k) { return near(q / 12, q % 12, k / 12, k % 12, 12, 8); };
  if (name == "natten_tiled")
    return [=](I q, I k) {
      const auto x = [](I i) { return i / 16 % 3 * 4 + i % 16 % 4; };
      const auto y = [](I i) { return i / 16 / 3 * 4 + i % 16 / 4; };
      return near(x(q), y(q), x(k), y(k), 12, 8);
    };
  if (name == "natten_morton")
    return [=](I q, I k) {
      const auto even_bits = [](I code) {
        I value = 0;
        for (int bit = 0; bit < 16; ++bit) value |= (code >> (2 * bit) & 1) << bit;
        return value;
      };
      return near(even_bits(q), even_bits(q >> 1), even_bits(k), even_bits(k >> 1), 12, 8);
    };
  if (name == "sta")  // 6 x 3 tiles of 2 x 2, three tiles across and down, then 24 tokens of text
    return [](I q, I k) {
      if (q >= 72 || k >= 72) return true;
      const I row = std::clamp<I>(q / 4 / 6, 1, 1), column = std::clamp<I>(q / 4 % 6, 1, 4);
      return std::abs(k / 4 / 6 - row) <= 1 && std::abs(k / 4 % 6 - column) <= 1;
    };
  if (name == "svg_spatial") return [](I q, I k) { return q < 8 || k < 8 || std::abs(q - k) < 20; };
  if (name == "svg_temporal") return [](I q, I k) { return q < 8 || k < 8 || std::abs((q - 8) % 11 - (k - 8) % 11) < 22 / 13; };
  if (name == "draft_training") return [](I q, I k) { return k < 30 || (q / 8 == (k - 30) / 8 && (k - 30) % 8 <= q % 8); };
  if (name == "flamingo") return [](I q, I k) { return q >= k / 16 * 16 && q < k / 16 * 16 + 30; };
  if (name == "tree") return [](I q, I k) { return k < 30 || q % (k - 30 + 1) == 0; };
  if (name == "vsa")  // of batch element 1 and head 2
    return [](I q, I k) {
      for (I i = 0; i < 3; ++i)
        if (((1 * 4 + 2) * 48 + q / 16 * 8 + i) * 5 % 7 % 6 == k / 16) return true;
      return false;
    };
  return {};
}

constexpr ExprElement scored_element{1, 2, 40, 13};

/// The same score changes at that element, written here from their papers; nullopt for a name that has none.
std::optional<double> wanted_score(std::string_view name, double before) {
  const std::int64_t pair = n * n + 40 * n + 13;  // the element of a table of pairs
  if (name == "alibi") return before + std::exp2(-6.0) * (13 - 40);
  if (name == "softcap") return 30 * std::tanh(before / 30.0);
  if (name == "relative") return before + 27;
  if (name == "relative_bias") return before + (40 - 13 + 95) / 8.0;
  if (name == "sandwich") {
    double sum = 0;
    for (int i = 0; i < 64; ++i) sum += std::cos(27.0 / std::pow(10000.0, 2.0 * i / 128));
    return before + sum * 4 / 24;
  }
  if (name == "graphormer_spatial") return before + static_cast<double>(2 * 5 + pair % 5) / 4;
  if (name == "graphormer_edge") {
    const std::int64_t hops = std::min<std::int64_t>(pair % 6, 4);
    double edges = 0;
    for (std::int64_t i = 0; i < hops; ++i) edges += static_cast<double>((2 * 4 + i) * 3 + (pair * 4 + i) % 3) / 2;
    return before + edges / static_cast<double>(std::max<std::int64_t>(hops, 1));
  }
  if (name == "mla_rope") {
    double dot = 0;
    for (std::int64_t i = 0; i < 16; ++i)
      dot += static_cast<double>(static_cast<float>(std::sin(static_cast<double>(((1 * 4 + 2) * n + 40) * 16 + i)))) *
             static_cast<double>(static_cast<float>(std::cos(static_cast<double>(((1 * 2 + 1) * n + 13) * 16 + i))));
    return before + dot;
  }
  if (name == "activation") return std::log(1 / (1 + std::exp(-before)) + 2);
  return std::nullopt;
}

}  // namespace

TEST_CASE("presets: each mask shows what its description says, element by element and block by block") {
  for (const Preset& preset : presets()) {
    if (preset.mask.empty() || preset.name == "sta_video") continue;
    CAPTURE(preset.name);
    const Expression expression = mask_expression(sized(preset.name));
    ExpressionEvaluator<float> evaluator(expression);
    const Wanted expected = wanted(preset.name);
    REQUIRE(expected);
    std::int64_t wrong = 0, faults = 0;
    for (std::int64_t q = 0; q < n; ++q)
      for (std::int64_t kv = 0; kv < n; ++kv) {
        const ExprValue<float>& value = evaluator({1, 2, q, kv});
        faults += value.fault ? 1 : 0;
        wrong += (value.integer != 0) != expected(q, kv) ? 1 : 0;
      }
    CHECK(faults == 0);
    CHECK(wrong == 0);
    CHECK(ExpressionMask::make(expression));
  }
}

TEST_CASE("presets: the video's tiles are those of a neighbourhood in time and space") {
  const Expression expression = mask_expression(sized("sta_video"));
  ExpressionEvaluator<float> evaluator(expression);
  // 2 frames of 3 x 3 tiles of 4 tokens. Two tiles are seen along each axis: the one before the query's, and its own.
  const auto seen_from = [](std::int64_t at) { return std::max<std::int64_t>(0, at - 1); };
  for (std::int64_t q = 0; q < n; ++q)
    for (std::int64_t kv = 0; kv < n; ++kv) {
      bool expected = true;
      if (q < 72 && kv < 72) {
        const std::int64_t tq = q / 36, rq = q / 4 % 9 / 3, cq = q / 4 % 3, tk = kv / 36, rk = kv / 4 % 9 / 3, ck = kv / 4 % 3;
        const auto holds = [&](std::int64_t from, std::int64_t to) {
          return to >= seen_from(from) && to <= std::max<std::int64_t>(1, from);
        };
        expected = holds(tq, tk) && holds(rq, rk) && holds(cq, ck);
      }
      REQUIRE((evaluator({0, 0, q, kv}).integer != 0) == expected);
    }
}

TEST_CASE("presets: each score change is the formula of its paper") {
  for (const Preset& preset : presets()) {
    if (preset.score.empty()) continue;
    CAPTURE(preset.name);
    for (const double before : {0.5, 12.0}) {
      const std::optional<double> wanted = wanted_score(preset.name, before);
      REQUIRE(wanted);
      CHECK(score(sized(preset.name), scored_element, before) == doctest::Approx(*wanted));
    }
    const auto text = preset_text(preset.name);
    REQUIRE(text);
    auto expression = parse_score_expression(text->score, preset_sizes, preset_tables());
    REQUIRE(expression);
    CHECK(ScoreChange::make(std::move(*expression), nullptr));
  }
}

TEST_CASE("presets: names and parameters that do not exist are answered with those that do") {
  CHECK(preset_text("casual").error().sentence.text() == "unknown name 'casual': did you mean causal?");
  CHECK(preset_text("sliding_window:windw=3").error().sentence.text() ==
        "sliding_window has no parameter 'windw': did you mean window?");
  CHECK(preset_text("causal:window=3").error().sentence.text() == "causal has no parameter 'window': it has none");
  CHECK(preset_text("sliding_window:window=q").error().sentence.text() ==
        "sliding_window: window is 'q', not a number; example: sliding_window:window=1024");
  CHECK(preset_text("sliding_window:window=3,window=4").error().sentence.text() == "sliding_window: window is given twice");
  CHECK(preset_text("softcap:cap=1);(2").error().sentence.text().find("not a number") != std::string::npos);
  for (const char* none : {"sta_video:frames=0", "natten:width=0", "batchify:size=-4", "natten:kernel=1.5"}) {
    CAPTURE(none);
    REQUIRE_FALSE(preset_text(none));
    CHECK(preset_text(none).error().sentence.text().find("but must be a whole number from 1 on; example: ") != std::string::npos);
  }
  CHECK(preset_text("sta_video:frames=8,text=0"));
  CHECK(preset_text("sliding_window:window=0"));
  CHECK(preset_text("sliding_window")->mask == "let window = 1024; q >= kv && q - kv <= window");
}

TEST_CASE("presets: a score that would read outside its table is refused with the element") {
  auto expression = parse_score_expression("score + bias[q - kv]", preset_sizes, preset_tables());
  REQUIRE(expression);
  const auto refused = ScoreChange::make(*expression, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sentence.text() == "column 9: index of bias is -1 at b 0, h 0, q 0, kv 1, but bias has 0 to 190 there");
  auto causal = parse_mask_expression("q >= kv", preset_sizes, {});
  const auto mask = ExpressionMask::make(std::move(*causal));
  REQUIRE(mask);
  CHECK(ScoreChange::make(*expression, mask->get()));  // the mask hides what would be outside
  auto chosen = parse_score_expression("abs(score - 0.1) < 0.01 ? bias[q - kv] : score", preset_sizes, preset_tables());
  REQUIRE(chosen);
  CHECK(ScoreChange::make(*chosen, nullptr).error().sentence.text().find("for some score at b 0, h 0, q 0, kv 1") !=
        std::string::npos);
}

}  // namespace tilescope
