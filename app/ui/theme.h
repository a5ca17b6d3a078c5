// Theme: colours, fonts and measures; the only place that knows what a tensor looks like.
#pragma once

#include <array>

#include <imgui.h>

#include "app/platform/theme_kind.h"
#include "sim/core/tensor.h"
#include "sim/engine/trace.h"

namespace tilescope {

/// One colour a tensor, everywhere. Okabe-Ito hues, told apart with every common colour blindness; nothing is said by colour alone.
struct Theme {
  ThemeKind kind = ThemeKind::dark;
  float scale = 1;  // of the display times the user's own; every length below is already scaled

  ImU32 background = 0;               // behind the panels
  ImU32 panel = 0, panel_border = 0;  // a panel's body and outline
  ImU32 inset = 0, inset_border = 0;  // boxes inside a panel (an SM, the L2, the HBM)
  ImU32 text = 0, text_dim = 0, text_faint = 0;
  ImU32 accent = 0, accent_soft = 0;                   // selection, the current line, buttons that are on
  ImU32 highlight = 0;                                 // the chosen row, the new maximum: the one thing to look at
  ImU32 good = 0, bad = 0;                             // an error within its bound, beyond it
  ImU32 link = 0;                                      // the empty channel between two levels
  std::array<ImU32, 2 * meaning_count> tensor{};       // fills, by Meaning, then those of gradients
  std::array<ImU32, 2 * meaning_count> tensor_text{};  // the same hue with enough contrast for text on `panel`
  std::array<ImU32, unit_count> unit{};                // lanes of the timeline that belong to no tensor
  std::array<ImU32, 13> wait{};                        // by WaitCause

  ImFont* ui = nullptr;  // Inter
  ImFont* ui_small = nullptr;
  ImFont* ui_bold = nullptr;
  ImFont* heading = nullptr;
  ImFont* mono = nullptr;  // JetBrains Mono: every number
  ImFont* mono_small = nullptr;
  ImFont* mono_tiny = nullptr;  // numbers in the cells of a matrix
  ImFont* display = nullptr;    // one large figure to be read from afar

  float gap = 0, padding = 0, rounding = 0, row_height = 0;

  /// Of what the tensor means, whatever the program; none has the colour of faint text.
  ImU32 color(Tensor t) const { return t ? tensor[hue(t)] : text_faint; }
  ImU32 color(Meaning meaning) const { return tensor[static_cast<std::size_t>(meaning)]; }
  ImU32 text_color(Tensor t) const { return t ? tensor_text[hue(t)] : text_faint; }
  ImU32 text_color(Meaning meaning) const { return tensor_text[static_cast<std::size_t>(meaning)]; }
  static std::size_t hue(Tensor t) { return static_cast<std::size_t>(t->meaning) + (t->gradient ? meaning_count : 0); }
};

/// Every font of a theme; what a change of colours alone keeps.
inline constexpr std::array theme_fonts = {&Theme::ui,   &Theme::ui_small,   &Theme::ui_bold,   &Theme::heading,
                                           &Theme::mono, &Theme::mono_small, &Theme::mono_tiny, &Theme::display};

/// The same theme without its fonts; fonts are filled in by the font loader.
Theme make_theme(ThemeKind kind, float scale);

/// Gives ImGui's own widgets (menus, sliders, text fields) the theme's colours and measures.
void apply_to_imgui(const Theme& theme);

/// WCAG 2 contrast of two opaque colours, 1 to 21.
double contrast_ratio(ImU32 a, ImU32 b);

/// `color` at `alpha` (0..1) of its own opacity.
ImU32 with_alpha(ImU32 color, float alpha);
ImU32 mix(ImU32 a, ImU32 b, float t);

}  // namespace tilescope
