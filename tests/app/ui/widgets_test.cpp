// Widgets: text that is cut is cut between characters and says so.
#include <algorithm>
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

TEST_CASE("widgets: a line breaks at blanks alone, and never inside a number or before its unit") {
  const BakedFonts fonts;
  ImFont* const font = fonts.theme.ui;
  const std::string text = "The run takes 1.5 µs, 12.25 GB/s and 4 tiles; HBM has 3.35 TB/s.\nAt 1.98 GHz it is 0.5 % faster.";
  const float widest = text_width(font, "12.25 GB/s ");
  int most_lines = 0;
  for (float width = widest; width < 600; width += 1.5F) {
    CAPTURE(width);
    const std::string lines = in_lines(font, text, width);
    CAPTURE(lines);
    for (const char* whole : {"1.5 µs,", "12.25 GB/s", "3.35 TB/s.", "1.98 GHz", "0.5 %"})
      CHECK(lines.find(whole) != std::string::npos);
    CHECK(text_width(font, lines) <= width);
    std::string on_one = lines;
    std::replace(on_one.begin(), on_one.end(), '\n', ' ');
    std::string same = text;
    std::replace(same.begin(), same.end(), '\n', ' ');
    CHECK(on_one == same);
    const auto count = static_cast<int>(std::count(lines.begin(), lines.end(), '\n')) + 1;
    most_lines = std::max(most_lines, count);
    CHECK(wrapped_height(font, text, width) == doctest::Approx(static_cast<float>(count) * font->FontSize));
  }
  CHECK(most_lines > 4);
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
