// The shared widgets: text, items and small drawings.
#include "app/ui/widgets.h"

#include <algorithm>
#include <cmath>

#include <imgui_internal.h>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/tab_stops.h"
#include "app/ui/text_record.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// The text of the last tooltip, to be copied.
struct ShownTooltip {
  int frame = -2;
  std::string text;
};

/// Returns the visible part of an ImGui label.
std::string_view visible(std::string_view label) {
  return label.substr(0, label.find("##"));
}

/// Returns the start of the character before `end`.
std::size_t previous_character(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
  return end;
}

float snapped(float v) {
  return std::floor(v + 0.5F);
}

/// Adds a text without recording it for copies; returns its width.
float add_text_at(ImDrawList* list, ImFont* font, ImVec2 at, ImU32 color, std::string_view text) {
  list->AddText(font, font->FontSize, {snapped(at.x), snapped(at.y)}, color, text.data(), text.data() + text.size());
  return text_width(font, text);
}

/// Background, text and frame colours of a button's three states.
struct ButtonLook {
  ImU32 fill, text;
};
ButtonLook button_look(const Theme& theme, bool on, bool hovered, bool held) {
  if (on) return {theme.accent, text_on(theme, theme.accent)};
  const float lift = held ? 1.0F : hovered ? 0.8F : 0.35F;
  return {mix(theme.inset, theme.inset_border, lift), theme.text};
}

}  // namespace

// --- text -------------------------------------------------------------------------------------------------------------------

float text_width(const ImFont* font, std::string_view text) {
  // CalcTextSizeA is const in effect, not in ImGui 1.90's signature.
  return const_cast<ImFont*>(font)->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

std::string first_that_fits(const ImFont* font, float width, std::span<const std::string> texts) {
  for (const std::string& text : texts)
    if (text_width(font, text) <= width) return text;
  return texts.back();
}

std::string first_that_fits(const ImFont* font, float width, std::initializer_list<std::string> texts) {
  return first_that_fits(font, width, std::span(texts.begin(), texts.size()));
}

std::string in_lines(const ImFont* font, std::string_view text, float width) {
  const float blank = text_width(font, " ");
  std::string out;
  bool at_start = true;  // of a line
  float x = 0;
  while (!text.empty()) {
    std::size_t end = text.find_first_of(" \n");
    while (end != std::string_view::npos && text[end] == ' ' && joins_unit(text, end)) end = text.find_first_of(" \n", end + 1);
    end = std::min(end, text.size());
    const std::string_view word = text.substr(0, end);
    const float wide = text_width(font, word);
    if (!at_start && x + blank + wide > width) {
      out += '\n';
      x = 0;
    } else if (!at_start) {
      out += ' ';
      x += blank;
    }
    out += word;
    x += wide;
    at_start = end < text.size() && text[end] == '\n';
    if (at_start) out += '\n', x = 0;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

float wrapped_height(const ImFont* font, std::string_view text, float width) {
  if (text.empty()) return 0;
  const std::string lines = in_lines(font, text, width);
  return const_cast<ImFont*>(font)->CalcTextSizeA(font->FontSize, FLT_MAX, width, lines.data(), lines.data() + lines.size()).y;
}

std::string elide(const ImFont* font, std::string_view text, float width) {
  if (text_width(font, text) <= width) return std::string(text);
  const float room = width - text_width(font, "…");
  std::size_t low = 0, high = text.size();
  while (low < high) {  // the longest prefix of whole characters that fits
    std::size_t middle = (low + high + 1) / 2;
    while (middle < text.size() && middle > low && (static_cast<unsigned char>(text[middle]) & 0xC0U) == 0x80U) ++middle;
    if (middle <= high && text_width(font, text.substr(0, middle)) <= room)
      low = middle;
    else
      high = previous_character(text, middle);
    if (high <= low) break;
  }
  std::string out(text.substr(0, low));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return room < 0 ? std::string() : out + "…";
}

std::string elide_path(const ImFont* font, std::string_view path, float width) {
  if (text_width(font, path) <= width) return std::string(path);
  const std::size_t slash = path.rfind('/');
  const std::string tail = "…" + std::string(slash == std::string_view::npos ? path : path.substr(slash));
  const std::string head = elide(font, path.substr(0, slash), width - text_width(font, tail) + text_width(font, "…"));
  if (slash == std::string_view::npos || head.empty()) return elide(font, path.substr(slash + 1), width);
  return head.substr(0, head.size() - std::string_view("…").size()) + tail;
}

void draw_text(ImDrawList* list, ImFont* font, const Rect& rect, ImU32 color, std::string_view text, Align align) {
  const std::string shown = elide(font, text, rect.width());
  const float width = align == Align::left ? 0 : text_width(font, shown);
  const float x = align == Align::left ? rect.min.x : align == Align::right ? rect.max.x - width : rect.center().x - width * 0.5F;
  const float y = rect.center().y - font->FontSize * 0.5F;
  record_text({x, y}, font, font->FontSize, text);
  if (shown.size() != text.size() || x + text_width(font, shown) > list->GetClipRectMax().x + 1) record_cut(text);
  list->AddText(font, font->FontSize, {snapped(x), snapped(y)}, color, shown.data(), shown.data() + shown.size());
}

void draw_fitted_text(ImDrawList* list, ImFont* font, const Rect& rect, ImU32 color, std::string_view text, Align align) {
  const float whole = text_width(font, text), part = whole > rect.width() ? std::max(rect.width(), 1.0F) / whole : 1;
  if (part == 1) return draw_text(list, font, rect, color, text, align);
  const float size = part * font->FontSize, y = rect.center().y - size * 0.5F;
  record_text({rect.min.x, y}, font, size, text);
  list->AddText(font, size, {snapped(rect.min.x), snapped(y)}, color, text.data(), text.data() + text.size());
}

bool fits_in_lines(const ImFont* font, std::string_view text, float width, float height) {
  const std::string lines = in_lines(font, text, width);
  const ImVec2 size =
      const_cast<ImFont*>(font)->CalcTextSizeA(font->FontSize, FLT_MAX, 0, lines.data(), lines.data() + lines.size());
  return size.x <= width && size.y <= height;
}

void draw_centered_lines(ImDrawList* list, ImFont* font, const Rect& rect, ImU32 color, std::string_view text) {
  constexpr float smaller = 0.95F, least = 0.4F;
  float part = 1;  // of the font's size
  while (part > least && !fits_in_lines(font, text, rect.width() / part, rect.height() / part)) part *= smaller;
  const std::string lines = in_lines(font, text, rect.width() / part);
  const float size = part * font->FontSize;
  float y = rect.center().y - 0.5F * size * static_cast<float>(1 + std::ranges::count(lines, '\n'));
  for (std::string_view rest = lines; !rest.empty(); y += size) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const ImVec2 at = {rect.center().x - 0.5F * part * text_width(font, line), y};
    record_text(at, font, size, line);
    list->AddText(font, size, {snapped(at.x), snapped(at.y)}, color, line.data(), line.data() + line.size());
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
}

void draw_wrapped(ImDrawList* list, ImFont* font, ImVec2 at, ImU32 color, std::string_view text, float width) {
  const std::string lines = in_lines(font, text, width);
  record_text(at, font, font->FontSize, lines);
  list->AddText(font, font->FontSize, {snapped(at.x), snapped(at.y)}, color, lines.data(), lines.data() + lines.size(), width);
}

float draw_text_at(ImDrawList* list, ImFont* font, ImVec2 at, ImU32 color, std::string_view text) {
  record_text(at, font, font->FontSize, text);
  return add_text_at(list, font, at, color, text);
}

float draw_more_text_at(ImDrawList* list, ImFont* font, ImVec2 at, ImU32 color, std::string_view text, std::string_view between) {
  record_more_text(at, font, font->FontSize, text, between);
  return add_text_at(list, font, at, color, text);
}

void text_item(ImFont* font, ImU32 color, std::string_view text) {
  record_text(ImGui::GetCursorScreenPos(), font, font->FontSize, text);
  ImGui::PushFont(font);
  ImGui::PushStyleColor(ImGuiCol_Text, color);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

void wrapped_text(ImFont* font, ImU32 color, std::string_view text) {
  // At the right edge of the visible part of a scrolling panel.
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  const bool wider = window->ContentSizeExplicit.x > 0;
  const float right = window->InnerRect.GetWidth() - window->WindowPadding.x;
  wrapped_text(font, color, text, wider ? right - ImGui::GetCursorPosX() : ImGui::GetContentRegionAvail().x);
}

void wrapped_text(ImFont* font, ImU32 color, std::string_view text, float width) {
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width);
  text_item(font, color, in_lines(font, text, width));
  ImGui::PopTextWrapPos();
}

// --- items ------------------------------------------------------------------------------------------------------------------

void panel_heading(const Theme& theme, std::string_view title, std::string_view remark) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float height = theme.heading->FontSize;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float title_width = std::min(text_width(theme.heading, title), width);
  draw_text(list, theme.heading, {at, {at.x + title_width + 1, at.y + height}}, theme.text, title);
  if (!remark.empty() && width > title_width + theme.gap)
    draw_text(list, theme.ui_small, {{at.x + title_width + theme.gap, at.y}, {at.x + width, at.y + height}}, theme.text_faint,
              remark, Align::right);
  ImGui::Dummy({width, height});
}

void divider(const Theme& theme) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float thickness = std::max(1.0F, std::round(theme.scale));
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, snapped(at.y)}, {at.x + width, snapped(at.y) + thickness}, theme.panel_border);
  ImGui::Dummy({width, thickness});
}

float button_width(const Theme& theme, std::string_view label) {
  return text_width(theme.ui_bold, label) + std::round(22 * theme.scale);
}

bool pill(const Theme& theme, const char* label, bool on, const char* tooltip, float width) {
  const std::string_view shown = visible(label);
  ImFont* font = on ? theme.ui_bold : theme.ui;
  const float height = std::round(26 * theme.scale);
  // As wide as the bold text, so that selecting moves nothing.
  const float own = std::max(text_width(theme.ui_bold, shown), text_width(theme.ui, shown)) + std::round(22 * theme.scale);
  bool clicked = ImGui::InvisibleButton(label, {width > 0 ? width : std::round(own), height});
  const bool hovered = ImGui::IsItemHovered(), held = ImGui::IsItemActive();
  const ButtonLook look = button_look(theme, on, hovered, held);
  const Rect rect = item_rect();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(rect.min, rect.max, look.fill, height * 0.5F);
  if (ImGui::IsItemFocused() && ImGui::GetIO().NavVisible)
    list->AddRect(rect.min, rect.max, theme.accent, height * 0.5F, 0, std::max(1.0F, 1.5F * theme.scale));
  draw_text(list, font, {{rect.min.x + 4 * theme.scale, rect.min.y}, {rect.max.x - 4 * theme.scale, rect.max.y}}, look.text, shown,
            Align::center);
  if (tab_stop(theme, rect, height * 0.5F)) clicked = true;
  if (tooltip != nullptr) item_tooltip(theme, tooltip);
  return clicked;
}

float segmented_width(const Theme& theme, std::span<const char* const> labels, bool small) {
  const float pad = std::round((small ? 8 : 12) * theme.scale);
  float total = 0;
  for (const char* label : labels) total += std::round(text_width(small ? theme.ui_small : theme.ui, visible(label)) + 2 * pad);
  return total;
}

std::optional<int> segmented(const Theme& theme, const char* id, std::span<const char* const> labels, int selected, bool small) {
  ImFont* font = small ? theme.ui_small : theme.ui;
  const float height = std::round((small ? 20 : 26) * theme.scale), pad = std::round((small ? 8 : 12) * theme.scale);
  std::optional<int> clicked;
  ImGui::PushID(id);
  const float total = segmented_width(theme, labels, small);
  const ImVec2 start = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(start, {start.x + total, start.y + height}, mix(theme.inset, theme.inset_border, 0.35F), height * 0.5F);
  for (int i = 0; i < static_cast<int>(labels.size()); ++i) {
    const char* label = labels[static_cast<std::size_t>(i)];
    const std::string_view shown = visible(label);
    if (i > 0) ImGui::SameLine(0, 0);
    ImGui::PushID(i);
    if (ImGui::InvisibleButton("##part", {std::round(text_width(font, shown) + 2 * pad), height})) clicked = i;
    const Rect rect = item_rect();
    const bool on = i == selected;
    const ButtonLook look = button_look(theme, on, ImGui::IsItemHovered(), ImGui::IsItemActive());
    if (on || ImGui::IsItemHovered()) list->AddRectFilled(rect.min, rect.max, look.fill, height * 0.5F);
    if (ImGui::IsItemFocused() && ImGui::GetIO().NavVisible)
      list->AddRect(rect.min, rect.max, theme.accent, height * 0.5F, 0, std::max(1.0F, 1.5F * theme.scale));
    draw_text(list, font, rect, on ? look.text : theme.text_dim, shown, Align::center);
    if (tab_stop(theme, rect, height * 0.5F)) clicked = i;
    ImGui::PopID();
  }
  ImGui::PopID();
  return clicked;
}

bool key_value_row(const Theme& theme, std::string_view label, std::string_view value, std::optional<Tensor> swatch,
                   std::optional<ImU32> value_color) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = theme.row_height;
  ImGui::Dummy({width, height});
  const bool hovered = ImGui::IsItemHovered();
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = at.x;
  if (swatch) {
    const float side = std::round(9 * theme.scale);
    draw_swatch(list, theme, {x, snapped(at.y + (height - side) * 0.5F)}, side, *swatch);
    x += side + std::round(8 * theme.scale);
  }
  const float value_width = std::min(text_width(theme.mono, value), at.x + width - x);
  const float value_left = at.x + width - value_width;
  draw_text(list, theme.ui, {{x, at.y}, {value_left - theme.gap * 0.5F, at.y + height}}, theme.text_dim, label);
  draw_text(list, theme.mono, {{value_left - 1, at.y}, {at.x + width, at.y + height}}, value_color.value_or(theme.text), value,
            Align::right);
  return hovered;
}

Rect item_rect() {
  return {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()};
}

bool hit_area(const char* id, const Rect& rect) {
  const ImVec2 back = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(rect.min);
  const bool clicked = ImGui::InvisibleButton(id, {std::max(1.0F, rect.width()), std::max(1.0F, rect.height())});
  ImGui::SetCursorScreenPos(back);
  // The cursor is restored, so ImGui needs no item here.
  ImGui::GetCurrentWindow()->DC.IsSetPos = false;
  return clicked;
}

namespace {

/// Puts the tooltip of a line beside it, or below or above where it is too wide, so that the line and its neighbours stay readable.
void put_tooltip_beside(const Theme& theme, const Rect& line) {
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  const float gap = 8 * theme.scale, needed = std::round(400 * theme.scale) + gap;
  const bool upper = line.center().y < 0.5F * window.y;
  const float y = upper ? line.min.y : line.max.y, pivot = upper ? 0.0F : 1.0F;
  if (line.max.x + needed <= window.x)
    ImGui::SetNextWindowPos({line.max.x + gap, y}, ImGuiCond_Always, {0, pivot});
  else if (line.min.x >= needed)
    ImGui::SetNextWindowPos({line.min.x - gap, y}, ImGuiCond_Always, {1, pivot});
  else
    ImGui::SetNextWindowPos({std::clamp(ImGui::GetIO().MousePos.x, 0.0F, std::max(0.0F, window.x - needed)),
                             upper ? line.max.y + gap : line.min.y - gap},
                            ImGuiCond_Always, {0, pivot});
}

}  // namespace

void item_tooltip(const Theme& theme, std::string_view title, std::string_view body) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort | ImGuiHoveredFlags_NoSharedDelay)) return;
  constexpr float of_line = 6;  // times as wide as it is high
  if (const Rect item = item_rect(); item.width() > of_line * item.height()) put_tooltip_beside(theme, item);
  show_tooltip(theme, title, body);
}

std::string shown_tooltip() {
  const auto& shown = panel_state<ShownTooltip>("tooltip");
  return ImGui::GetFrameCount() - shown.frame <= 1 ? shown.text : std::string();
}

void tooltip_text(const Theme& theme, std::string_view title, std::string_view body) {
  const float width = std::round(380 * theme.scale) - ImGui::GetCursorPosX();
  if (!title.empty()) wrapped_text(body.empty() ? theme.ui : theme.ui_bold, theme.text, formula_text(title), width);
  if (!body.empty()) wrapped_text(theme.ui_small, theme.text_dim, formula_text(body), width);
}

void show_tooltip(const Theme& theme, std::string_view title, std::string_view body) {
  auto& shown = panel_state<ShownTooltip>("tooltip");
  shown.frame = ImGui::GetFrameCount();
  shown.text = std::string(title) + (title.empty() || body.empty() ? "" : "\n") + std::string(body);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(std::round(10 * theme.scale), std::round(8 * theme.scale)));
  if (ImGui::BeginTooltip()) {
    tooltip_text(theme, title, body);
    ImGui::EndTooltip();
  }
  ImGui::PopStyleVar();
}

void activate_next_frame(const char* id) {
  ImGuiContext& context = *ImGui::GetCurrentContext();
  context.NavNextActivateId = ImGui::GetID(id);
  context.NavNextActivateFlags = ImGuiActivateFlags_PreferInput;
}

bool icon_button(const Theme& theme, const char* id, Icon icon, const char* tooltip, bool enabled, bool on) {
  const float side = std::round(28 * theme.scale);
  ImGui::BeginDisabled(!enabled);
  const bool clicked = ImGui::InvisibleButton(id, {side, side});
  ImGui::EndDisabled();
  const bool hovered = ImGui::IsItemHovered(), held = ImGui::IsItemActive();
  const ButtonLook look = button_look(theme, on, hovered && enabled, held);
  const Rect rect = item_rect();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(rect.min, rect.max, look.fill, std::round(8 * theme.scale));
  if (ImGui::IsItemFocused() && ImGui::GetIO().NavVisible)
    list->AddRect(rect.min, rect.max, theme.accent, std::round(8 * theme.scale), 0, std::max(1.0F, 1.5F * theme.scale));
  draw_icon(list, icon, rect.center(), std::round(12 * theme.scale), enabled ? look.text : theme.text_faint);
  const bool pressed = enabled && tab_stop(theme, rect, std::round(8 * theme.scale));
  if (tooltip != nullptr && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort | ImGuiHoveredFlags_AllowWhenDisabled))
    show_tooltip(theme, tooltip);
  return (clicked && enabled) || pressed;
}

// --- drawing ----------------------------------------------------------------------------------------------------------------

void draw_swatch(ImDrawList* list, const Theme& theme, ImVec2 min, float size, Tensor tensor) {
  list->AddRectFilled(min, {min.x + size, min.y + size}, theme.color(tensor), std::round(2.5F * theme.scale));
}

void draw_bar(ImDrawList* list, const Theme& theme, const Rect& rect, double fraction, ImU32 color) {
  const float radius = std::min(rect.height() * 0.5F, theme.rounding * 0.5F);
  list->AddRectFilled(rect.min, rect.max, mix(theme.inset, theme.inset_border, 0.6F), radius);
  const float width = rect.width() * static_cast<float>(std::clamp(fraction, 0.0, 1.0));
  if (width > 0.5F)
    list->AddRectFilled(rect.min, {rect.min.x + std::max(width, std::min(2 * radius, rect.width())), rect.max.y}, color, radius);
}

bool cell_shows_number(const Theme& theme, const Rect& rect) {
  return rect.width() >= text_width(theme.mono_small, "-0.0") + 2 * theme.scale && rect.height() >= theme.mono_small->FontSize;
}

void draw_value_cell(ImDrawList* list, const Theme& theme, const Rect& rect, float value, ImU32 fill) {
  list->AddRectFilled(rect.min, rect.max, fill, std::round(2 * theme.scale));
  if (cell_shows_number(theme, rect))
    draw_text(list, theme.mono_small, rect, text_on(theme, fill), short_number(value), Align::center);
}

std::string short_number(float value) {
  return format_cell(value, 4);
}

ImU32 text_on(const Theme& theme, ImU32 fill) {
  const float opacity = static_cast<float>(fill >> IM_COL32_A_SHIFT) / 255.0F;
  const ImU32 seen = mix(theme.inset, fill | IM_COL32_A_MASK, opacity) | IM_COL32_A_MASK;
  constexpr ImU32 ink = IM_COL32(11, 16, 32, 255), paper = IM_COL32(255, 255, 255, 255);
  return contrast_ratio(ink, seen) >= contrast_ratio(paper, seen) ? ink : paper;
}

void message_box(const Theme& theme, const char* id, ImVec2 at, float width, std::string_view sentence, bool good, ImVec2 pivot) {
  ImGui::SetNextWindowPos(at, ImGuiCond_Always, pivot);
  ImGui::PushStyleColor(ImGuiCol_Border, good ? theme.accent : theme.bad);
  constexpr ImGuiWindowFlags quiet = ImGuiWindowFlags_Tooltip | ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoTitleBar |
                                     ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_AlwaysAutoResize;
  ImGui::Begin(id, nullptr, quiet);
  wrapped_text(theme.ui, theme.text, sentence, width - 2 * theme.padding - ImGui::GetCursorPosX());
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace tilescope
