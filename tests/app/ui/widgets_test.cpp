// Widgets: text that is cut is cut between characters and says so.
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "tests/app/ui/baked_fonts.h"
#include "tests/sim/attention_schema.h"

using namespace tilescope;

namespace {

bool whole_characters(const std::string& text) {
  return decode_utf8(text).find(U'\uFFFD') == std::u32string::npos;
}

}  // namespace

TEST_CASE("widgets: elided text fits, ends with an ellipsis, and is never cut inside a character") {
  const BakedFonts fonts;
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string text = "α = exp(m − m′) → Oᵢ, ⌈N/Br⌉ tiles · Θ(N²d²/M)";
  for (int i = 0; i < 500; ++i) {
    const float width = static_cast<float>(random() % 4000) / 10;
    const std::string shown = elide(fonts.theme.ui, text, width);
    CAPTURE(width);
    CAPTURE(shown);
    CHECK(text_width(fonts.theme.ui, shown) <= width);
    CHECK(whole_characters(shown));
    if (shown != text && !shown.empty()) CHECK(shown.ends_with("…"));
  }
  CHECK(elide(fonts.theme.ui, text, 10000) == text);
  CHECK(elide(fonts.theme.ui, "", 5).empty());
}

TEST_CASE("widgets: elided text uses the available width") {
  const BakedFonts fonts;
  const std::string text(60, 'm');
  const float width = text_width(fonts.theme.ui, std::string(20, 'm')) + text_width(fonts.theme.ui, "…") + 1;
  CHECK(elide(fonts.theme.ui, text, width) == fmt::format("{:m>20}…", ""));
}

TEST_CASE("widgets: short numbers take at most four characters and keep their meaning") {
  CHECK(short_number(0.817F) == ".817");
  CHECK(short_number(1.871F) == "1.87");
  CHECK(decode_utf8(short_number(-INFINITY)).size() == 2);
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const float value =
        std::ldexp(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000, static_cast<int>(random() % 40) - 20);
    CAPTURE(value);
    CHECK(decode_utf8(short_number(value)).size() <= 4);
  }
}

TEST_CASE("widgets: text is readable on every tensor colour in both themes") {
  for (ThemeKind kind : {ThemeKind::dark, ThemeKind::light}) {
    const Theme theme = make_theme(kind, 1);
    for (Tensor t : attention_tensors()) CHECK(contrast_ratio(text_on(theme, theme.color(t)), theme.color(t)) >= 3.9);
    CHECK(contrast_ratio(text_on(theme, theme.accent), theme.accent) >= 4.5);
  }
}

TEST_CASE("formula text: a lone l is drawn as a script l, letters of words and names are not") {
  CHECK(formula_text("l = α l + rowsum P") == "ℓ = α ℓ + rowsum P");
  CHECK(formula_text("O = O / l,  L = m + log l") == "O = O / ℓ,  L = m + log ℓ");
  CHECK(formula_text("store Oᵢ, l′ᵢ, m′ᵢ → HBM") == "store Oᵢ, ℓ′ᵢ, m′ᵢ → HBM");
  CHECK(formula_text("load all tiles of l2_to_sm") == "load all tiles of l2_to_sm");
}
