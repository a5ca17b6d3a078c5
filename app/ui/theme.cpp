// The dark and light palettes, and the style of ImGui's widgets.
#include "app/ui/theme.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

namespace {

constexpr ImU32 rgb(std::uint32_t hex) {
  return IM_COL32((hex >> 16) & 255, (hex >> 8) & 255, hex & 255, 255);
}

int channel(ImU32 color, int shift) {
  return static_cast<int>((color >> shift) & 255U);
}

double linear(int value) {
  const double v = value / 255.0;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

double luminance(ImU32 color) {
  return 0.2126 * linear(channel(color, IM_COL32_R_SHIFT)) + 0.7152 * linear(channel(color, IM_COL32_G_SHIFT)) +
         0.0722 * linear(channel(color, IM_COL32_B_SHIFT));
}

// Okabe-Ito hues in the order of Meaning (Q K V S P O L m l D bias table), moved apart until every pair also differs for readers
// with protanopia, deuteranopia and tritanopia (the test computes how much). L, m and l are one yellow family: they never stand
// without their letter. D, which is beside L in a backward pass, is much darker.
constexpr std::array<std::uint32_t, meaning_count> dark_tensors = {0x62C3F5, 0xF09A0A, 0x3DB38A, 0xC777A8, 0x937DE2, 0xE4603C,
                                                                   0xE9DF6E, 0xF5EC5A, 0xDCD04A, 0x867F5C, 0xB0723A, 0x9AA7BC};
constexpr std::array<std::uint32_t, meaning_count> light_tensors = {0x3A8FCD, 0xF08200, 0x0DAE7A, 0xCE7BA8, 0x6A55C4, 0xBE3F18,
                                                                    0xA9AD2E, 0xB2BA38, 0x9FA31F, 0x3F3D10, 0x8A5A2B, 0x75839B};

/// A gradient wears the hue of what it is the gradient of, half way to the text; the fp32 sum of one, part of the way to the
/// ground.
void fill_tensors(Theme& t, const std::array<std::uint32_t, meaning_count>& hues) {
  for (std::size_t i = 0; i < hues.size(); ++i) {
    t.tensor[i] = rgb(hues[i]);
    t.tensor[meaning_count + i] = mix(t.tensor[i], t.text, 0.5F);
    t.tensor[2 * meaning_count + i] = mix(t.tensor[i], t.inset, 0.35F);
  }
}

void fill_dark(Theme& t) {
  t.background = rgb(0x0E131D);
  t.panel = rgb(0x141A27);
  t.panel_border = rgb(0x263044);
  t.inset = rgb(0x182031);
  t.inset_border = rgb(0x2A3550);
  t.text = rgb(0xE8EBF2);
  t.text_dim = rgb(0xA3ADC2);
  t.text_faint = rgb(0x8590A8);
  t.accent = rgb(0x7AA2FF);
  t.accent_soft = rgb(0x2A3A63);
  t.highlight = rgb(0xF5EC5A);
  t.good = rgb(0x4CC79B);
  t.bad = rgb(0xFF7A5C);
  t.link = rgb(0x2A3446);
  fill_tensors(t, dark_tensors);
}

void fill_light(Theme& t) {
  t.background = rgb(0xE9EDF3);
  t.panel = rgb(0xFBFCFE);
  t.panel_border = rgb(0xCBD3E0);
  t.inset = rgb(0xF1F4F9);
  t.inset_border = rgb(0xC3CCDB);
  t.text = rgb(0x151B28);
  t.text_dim = rgb(0x4A5468);
  t.text_faint = rgb(0x5F6A80);
  t.accent = rgb(0x2F5FD8);
  t.accent_soft = rgb(0xD4E0FB);
  t.highlight = rgb(0x866A00);
  t.good = rgb(0x0A7A55);
  t.bad = rgb(0xB83214);
  t.link = rgb(0xD5DCE7);
  fill_tensors(t, light_tensors);
}

/// Units and stalls use tensor hues if one fits (tensor cores make S, exp makes P), else greys.
void fill_units(Theme& t) {
  t.unit = {t.color(Meaning::query),   t.color(Meaning::score),  t.color(Meaning::probability),
            t.color(Meaning::row_max), t.color(Meaning::output), t.text_faint};
  const ImU32 grey = t.text_faint;
  // none, program_order, data, buffer, tensor, exp, fp32, smem, l2, hbm, barrier, block_slot, launch
  t.wait = {0,
            grey,
            t.color(Meaning::key),
            t.color(Meaning::value),
            t.unit[1],
            t.unit[2],
            t.unit[3],
            t.color(Meaning::query),
            t.accent,
            t.bad,
            grey,
            t.text_dim,
            t.text_dim};
}

}  // namespace

Theme make_theme(ThemeKind kind, float scale) {
  Theme theme;
  theme.kind = kind;
  theme.scale = scale;
  kind == ThemeKind::dark ? fill_dark(theme) : fill_light(theme);
  for (std::size_t i = 0; i < theme.tensor.size(); ++i)
    theme.tensor_text[i] = readable(theme.tensor[i], theme.text, theme.inset, 4.6);  // a panel is farther from the text
  fill_units(theme);
  theme.gap = std::round(10 * scale);
  theme.padding = std::round(14 * scale);
  theme.rounding = std::round(8 * scale);
  theme.row_height = std::round(24 * scale);
  return theme;
}

Theme without_small_text(Theme theme) {
  theme.mono_tiny = theme.mono_small;
  theme.ui_small = theme.ui;
  theme.mono_small = theme.mono;
  return theme;
}

Theme reading_theme(const Theme& theme, ReadingSize size) {
  if (size == ReadingSize::usual) return theme;
  Theme larger = make_theme(theme.kind, theme.scale * reading_scales[static_cast<std::size_t>(size)]);
  for (auto font : theme_fonts) larger.*font = theme.*font;
  larger.ui_small = theme.ui;
  larger.mono_small = theme.mono;
  const bool largest = size == ReadingSize::lecture;
  larger.ui = largest ? theme.lecture : theme.reading;
  larger.ui_bold = larger.heading = largest ? theme.lecture_bold : theme.reading_bold;
  larger.mono = largest ? theme.lecture_mono : theme.reading_mono;
  return larger;
}

void apply_to_imgui(const Theme& t) {
  ImGuiStyle style;
  style.WindowPadding = {t.padding, t.padding};
  style.FramePadding = {std::round(9 * t.scale), std::round(4 * t.scale)};
  style.ItemSpacing = {std::round(8 * t.scale), std::round(6 * t.scale)};
  style.ItemInnerSpacing = {std::round(6 * t.scale), std::round(4 * t.scale)};
  style.WindowRounding = style.ChildRounding = style.PopupRounding = t.rounding;
  style.FrameRounding = std::round(6 * t.scale);
  style.GrabRounding = std::round(6 * t.scale);
  style.GrabMinSize = std::round(12 * t.scale);
  style.ScrollbarSize = std::round(8 * t.scale);
  style.ScrollbarRounding = std::round(4 * t.scale);
  style.WindowBorderSize = style.PopupBorderSize = std::max(1.0F, std::round(t.scale));
  style.FrameBorderSize = 0;
  style.AntiAliasedLinesUseTex = true;
  style.HoverDelayShort = 0.12F;
  style.HoverDelayNormal = 0.35F;

  const auto set = [&](ImGuiCol slot, ImU32 color) { style.Colors[slot] = ImGui::ColorConvertU32ToFloat4(color); };
  set(ImGuiCol_Text, t.text);
  set(ImGuiCol_TextDisabled, t.text_faint);
  set(ImGuiCol_WindowBg, t.background);
  set(ImGuiCol_ChildBg, 0);
  set(ImGuiCol_PopupBg, t.inset);
  set(ImGuiCol_Border, t.inset_border);
  set(ImGuiCol_FrameBg, mix(t.inset, t.inset_border, 0.45F));
  set(ImGuiCol_FrameBgHovered, mix(t.inset, t.inset_border, 0.8F));
  set(ImGuiCol_FrameBgActive, t.inset_border);
  set(ImGuiCol_SliderGrab, t.accent);
  set(ImGuiCol_SliderGrabActive, t.accent);
  set(ImGuiCol_CheckMark, t.accent);
  set(ImGuiCol_Button, mix(t.inset, t.inset_border, 0.45F));
  set(ImGuiCol_ButtonHovered, t.inset_border);
  set(ImGuiCol_ButtonActive, t.accent_soft);
  set(ImGuiCol_Header, t.accent_soft);
  set(ImGuiCol_HeaderHovered, mix(t.inset, t.accent_soft, 0.7F));
  set(ImGuiCol_HeaderActive, t.accent_soft);
  set(ImGuiCol_Separator, t.inset_border);
  set(ImGuiCol_ScrollbarBg, 0);
  set(ImGuiCol_ScrollbarGrab, t.inset_border);
  set(ImGuiCol_ScrollbarGrabHovered, t.text_faint);
  set(ImGuiCol_ScrollbarGrabActive, t.text_dim);
  set(ImGuiCol_TextSelectedBg, with_alpha(t.accent, 0.35F));
  set(ImGuiCol_NavHighlight, t.accent);
  set(ImGuiCol_TableBorderLight, t.inset_border);
  set(ImGuiCol_TableBorderStrong, t.inset_border);
  set(ImGuiCol_TableRowBg, 0);
  set(ImGuiCol_TableRowBgAlt, with_alpha(t.inset_border, 0.25F));
  set(ImGuiCol_ModalWindowDimBg, with_alpha(t.background, 0.6F));
  ImGui::GetStyle() = style;
}

double contrast_ratio(ImU32 a, ImU32 b) {
  const double first = luminance(a), second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

ImU32 readable(ImU32 color, ImU32 towards, ImU32 ground, double ratio) {
  for (int step = 0; step <= 20; ++step)
    if (const ImU32 tried = mix(color, towards, static_cast<float>(step) / 20.0F); contrast_ratio(tried, ground) >= ratio)
      return tried;
  return towards;
}

ImU32 with_alpha(ImU32 color, float alpha) {
  const auto opacity = static_cast<float>(channel(color, IM_COL32_A_SHIFT)) * std::clamp(alpha, 0.0F, 1.0F);
  return (color & ~IM_COL32_A_MASK) | static_cast<ImU32>(std::lround(opacity)) << IM_COL32_A_SHIFT;
}

ImU32 mix(ImU32 a, ImU32 b, float t) {
  t = std::clamp(t, 0.0F, 1.0F);
  ImU32 out = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const auto from = static_cast<float>(channel(a, shift)), to = static_cast<float>(channel(b, shift));
    out |= static_cast<ImU32>(std::lround(from + (to - from) * t)) << shift;
  }
  return out;
}

}  // namespace tilescope
