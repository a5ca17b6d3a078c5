// Theme: colours, fonts and sizes, and nowhere else what a tensor looks like.
#pragma once

#include <array>
#include <cstdint>

#include <imgui.h>

#include "app/platform/theme_kind.h"
#include "sim/core/tensor.h"
#include "sim/engine/trace.h"

namespace tilescope {

/// Each tensor has one colour everywhere: Okabe-Ito hues, distinct for common colour blindness. Nothing relies on colour alone.
struct Theme {
  ThemeKind kind = ThemeKind::dark;
  float scale = 1;  // display scale times the user's; every length below includes it

  ImU32 background = 0;               // behind the panels
  ImU32 panel = 0, panel_border = 0;  // a panel's body and outline
  ImU32 inset = 0, inset_border = 0;  // boxes inside a panel (an SM, the L2, the HBM)
  ImU32 text = 0, text_dim = 0, text_faint = 0;
  ImU32 accent = 0, accent_soft = 0;                   // selection, current line, active buttons
  ImU32 highlight = 0;                                 // the chosen row, the new maximum
  ImU32 good = 0, bad = 0;                             // within a bound, beyond it
  ImU32 link = 0;                                      // an idle link between two levels
  std::array<ImU32, 3 * meaning_count> tensor{};       // fills, by Meaning, then those of gradients and of their sums
  std::array<ImU32, 3 * meaning_count> tensor_text{};  // the same hue with enough contrast for text on `panel`
  std::array<ImU32, unit_count> unit{};                // timeline rows without a tensor
  std::array<ImU32, 13> wait{};                        // by WaitCause

  ImFont* ui = nullptr;  // Inter
  ImFont* ui_small = nullptr;
  ImFont* ui_bold = nullptr;
  ImFont* heading = nullptr;
  ImFont* mono = nullptr;  // JetBrains Mono: every number
  ImFont* mono_small = nullptr;
  ImFont* mono_tiny = nullptr;  // numbers in the cells of a matrix
  ImFont* display = nullptr;    // large figures
  // The text of a presented lesson; elsewhere the plain fonts.
  ImFont* reading = nullptr;
  ImFont* reading_bold = nullptr;
  ImFont* reading_mono = nullptr;
  ImFont* lecture = nullptr;
  ImFont* lecture_bold = nullptr;
  ImFont* lecture_mono = nullptr;

  float gap = 0, padding = 0, rounding = 0, row_height = 0;

  /// Of what the tensor means, whatever the program; none has the colour of faint text.
  ImU32 color(Tensor t) const { return t ? tensor[hue(t)] : text_faint; }
  ImU32 color(Meaning meaning) const { return tensor[static_cast<std::size_t>(meaning)]; }
  ImU32 text_color(Tensor t) const { return t ? tensor_text[hue(t)] : text_faint; }
  ImU32 text_color(Meaning meaning) const { return tensor_text[static_cast<std::size_t>(meaning)]; }
  static std::size_t hue(Tensor t) {
    // A gradient of a type of its own is a sum to which blocks add: dQ_acc beside dQ.
    const int kind = !t->gradient ? 0 : t->type ? 2 : 1;
    return static_cast<std::size_t>(t->meaning) + static_cast<std::size_t>(kind * meaning_count);
  }
};

/// Copies every font; used when only the colours change.
inline constexpr std::array theme_fonts = {&Theme::ui,           &Theme::ui_small,     &Theme::ui_bold,      &Theme::heading,
                                           &Theme::mono,         &Theme::mono_small,   &Theme::mono_tiny,    &Theme::display,
                                           &Theme::reading,      &Theme::reading_bold, &Theme::reading_mono, &Theme::lecture,
                                           &Theme::lecture_bold, &Theme::lecture_mono};

/// Returns the theme without fonts; the font loader fills them in.
Theme make_theme(ThemeKind kind, float scale);

/// Returns the theme with small text as large as the rest, for who sits at the back of a room.
Theme without_small_text(Theme theme);

/// How large the text of a presented lesson is: that of the labels beside it, or larger by one of `reading_scales`.
enum class ReadingSize : std::uint8_t { usual, reading, lecture };
inline constexpr std::array reading_scales = {1.0F, 1.25F, 1.6F};  // by ReadingSize
/// Returns the theme of a presented lesson's text, with fonts and measures of that size.
Theme reading_theme(const Theme& theme, ReadingSize size = ReadingSize::reading);

/// Gives ImGui's own widgets (menus, sliders, text fields) the theme's colours and measures.
void apply_to_imgui(const Theme& theme);

/// Returns the WCAG 2 contrast of two opaque colours, 1 to 21.
double contrast_ratio(ImU32 a, ImU32 b);

/// Moves `color` towards `towards` until it has contrast `ratio` on `ground`.
ImU32 readable(ImU32 color, ImU32 towards, ImU32 ground, double ratio = 4.5);

/// Returns `color` with its opacity times `alpha` (0..1).
ImU32 with_alpha(ImU32 color, float alpha);
ImU32 mix(ImU32 a, ImU32 b, float t);

}  // namespace tilescope
