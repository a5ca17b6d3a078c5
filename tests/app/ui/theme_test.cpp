// The palette: readable text on every ground, and tensors that stay apart for colour-blind readers.
#include <algorithm>
#include <array>
#include <cmath>

#include <doctest/doctest.h>

#include "app/ui/theme.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/backward_tensors.h"
#include "tests/sim/attention_schema.h"

using namespace tilescope;

namespace {

using Triple = std::array<double, 3>;
using Table = std::array<Triple, 3>;

// Machado, Oliveira, Fernandes (2009), severity 1, on linear RGB.
constexpr Table normal_sight = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Table protanopia = {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Table deuteranopia = {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Table tritanopia = {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

double linear(ImU32 color, int shift) {
  const double v = static_cast<double>((color >> shift) & 255U) / 255;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

/// CIE L*a*b* of a colour as someone with the given sight sees it.
Triple seen(ImU32 color, const Table& sight) {
  const Triple rgb = {linear(color, IM_COL32_R_SHIFT), linear(color, IM_COL32_G_SHIFT), linear(color, IM_COL32_B_SHIFT)};
  Triple out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = std::clamp(sight[i][0] * rgb[0] + sight[i][1] * rgb[1] + sight[i][2] * rgb[2], 0.0, 1.0);
  const double x = 0.4124 * out[0] + 0.3576 * out[1] + 0.1805 * out[2];
  const double y = 0.2126 * out[0] + 0.7152 * out[1] + 0.0722 * out[2];
  const double z = 0.0193 * out[0] + 0.1192 * out[1] + 0.9505 * out[2];
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  return {116 * f(y) - 16, 500 * (f(x / 0.95047) - f(y)), 200 * (f(y) - f(z / 1.08883))};
}

double distance(ImU32 a, ImU32 b, const Table& sight) {
  const Triple first = seen(a, sight), second = seen(b, sight);
  return std::hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2]);
}

constexpr std::array both = {ThemeKind::dark, ThemeKind::light};

}  // namespace

TEST_CASE("theme: every text of a code line has contrast 4.5 on the ground of a new line, and presented code is as large as text") {
  for (const ThemeKind kind : {ThemeKind::dark, ThemeKind::light}) {
    const Theme theme = make_theme(kind, 1);
    const ImU32 ground = mix(theme.inset, theme.good, 0.14F);
    for (const ImU32 color : {theme.text, theme.text_dim, theme.text_faint, theme.good})
      CHECK(contrast_ratio(readable(color, theme.text, ground), ground) >= 4.5);
  }
  Theme theme;
  ImFont mono, mono_small;
  theme.mono = &mono;
  theme.mono_small = &mono_small;
  CHECK(without_small_text(theme).mono_small == &mono);
}

TEST_CASE("theme: every text has WCAG AA contrast on panels and insets") {
  for (ThemeKind kind : both) {
    const Theme theme = make_theme(kind, 1);
    for (ImU32 ground : {theme.panel, theme.inset, theme.background}) {
      CAPTURE(ground);
      CHECK(contrast_ratio(theme.text, ground) >= 7);
      CHECK(contrast_ratio(theme.text_dim, ground) >= 4.5);
      CHECK(contrast_ratio(theme.text_faint, ground) >= 4.5);
    }
    for (ImU32 ground : {theme.panel, theme.inset}) {
      for (ImU32 color : theme.tensor_text) CHECK(contrast_ratio(color, ground) >= 4.5);
      for (ImU32 color : {theme.good, theme.bad, theme.highlight, theme.accent}) CHECK(contrast_ratio(color, ground) >= 4.5);
    }
  }
}

TEST_CASE("theme: tensor colours differ for normal sight, protanopia, deuteranopia and tritanopia") {
  // L, m and l are one family, told apart by their letters; the others must differ by colour as well.
  constexpr std::array apart = {tensors::q, tensors::k, tensors::v, tensors::s, tensors::p, tensors::o, tensors::m};
  constexpr double clearly_different = 10;  // CIE76; 2.3 is just noticeable
  for (ThemeKind kind : both) {
    const Theme theme = make_theme(kind, 1);
    for (const Table& sight : {normal_sight, protanopia, deuteranopia, tritanopia})
      for (std::size_t i = 0; i < apart.size(); ++i)
        for (std::size_t j = i + 1; j < apart.size(); ++j) {
          CAPTURE(to_string(apart[i]));
          CAPTURE(to_string(apart[j]));
          CAPTURE(sight[0][0]);
          CHECK(distance(theme.color(apart[i]), theme.color(apart[j]), sight) >= clearly_different);
        }
  }
}

TEST_CASE("theme: D is not taken for L, nor for another tensor, by normal sight, protanopia, deuteranopia and tritanopia") {
  constexpr std::array others = {Meaning::query,  Meaning::key,     Meaning::value,   Meaning::score, Meaning::probability,
                                 Meaning::output, Meaning::row_max, Meaning::row_sum, Meaning::bias,  Meaning::table};
  for (ThemeKind kind : both) {
    const Theme theme = make_theme(kind, 1);
    const ImU32 d = theme.color(Meaning::row_dot), l = theme.color(Meaning::log_sum_exp);
    CHECK(contrast_ratio(d, l) >= 2.5);
    CHECK(contrast_ratio(d, theme.panel) >= 4);
    for (const Table& sight : {normal_sight, protanopia, deuteranopia, tritanopia}) {
      CHECK(distance(d, l, sight) >= 25);
      for (const Meaning other : others) {
        CAPTURE(static_cast<int>(other));
        CHECK(distance(d, theme.color(other), sight) >= 10);
      }
    }
  }
}

TEST_CASE("theme: Q, dQ and the sum of dQ differ for normal sight, protanopia, deuteranopia and tritanopia") {
  constexpr std::array apart = {tensors::q, tensors::d_q, tensors::d_q_acc};
  for (ThemeKind kind : both) {
    const Theme theme = make_theme(kind, 1);
    for (const Table& sight : {normal_sight, protanopia, deuteranopia, tritanopia})
      for (std::size_t i = 0; i < apart.size(); ++i)
        for (std::size_t j = i + 1; j < apart.size(); ++j)
          CHECK(distance(theme.color(apart[i]), theme.color(apart[j]), sight) >= 10);
    CHECK(contrast_ratio(theme.color(tensors::d_q_acc), theme.panel) >= (kind == ThemeKind::dark ? 4.0 : 2.0));
  }
}

TEST_CASE("theme: tensors contrast with the panel") {
  for (ThemeKind kind : both) {
    const Theme theme = make_theme(kind, 1);
    for (Tensor t : attention_tensors()) {
      CAPTURE(to_string(t));
      CHECK(contrast_ratio(theme.color(t), theme.panel) >= (kind == ThemeKind::dark ? 4.5 : 2.0));
    }
  }
}

TEST_CASE("theme: contrast matches known WCAG values") {
  constexpr ImU32 black = IM_COL32(0, 0, 0, 255), white = IM_COL32(255, 255, 255, 255);
  CHECK(contrast_ratio(black, white) == doctest::Approx(21));
  CHECK(contrast_ratio(white, white) == doctest::Approx(1));
  CHECK(contrast_ratio(IM_COL32(118, 118, 118, 255), white) == doctest::Approx(4.54).epsilon(0.01));
}

TEST_CASE("theme: lengths grow with the scale") {
  const Theme one = make_theme(ThemeKind::dark, 1), two = make_theme(ThemeKind::dark, 2);
  CHECK(two.gap == doctest::Approx(2 * one.gap));
  CHECK(two.row_height == doctest::Approx(2 * one.row_height));
}

TEST_CASE("theme: mixing and fading return their end points") {
  constexpr ImU32 a = IM_COL32(10, 20, 30, 255), b = IM_COL32(110, 220, 130, 55);
  CHECK(mix(a, b, 0) == a);
  CHECK(mix(a, b, 1) == b);
  CHECK(mix(a, b, 7) == b);
  CHECK(with_alpha(a, 0.5F) == IM_COL32(10, 20, 30, 128));
  CHECK(with_alpha(a, 1) == a);
}
