// Small widgets shared by panels: headings, pills, table rows, bars, matrix cells, tooltips, icons.
//
// Functions that take an ImDrawList only draw. The others are ImGui items and advance the cursor.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <imgui.h>

#include "app/ui/theme.h"

namespace tilescope {

struct Rect {
  ImVec2 min, max;
  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
  ImVec2 center() const { return {(min.x + max.x) * 0.5f, (min.y + max.y) * 0.5f}; }
  bool contains(ImVec2 p) const { return p.x >= min.x && p.x < max.x && p.y >= min.y && p.y < max.y; }
  bool overlaps(const Rect& r) const { return min.x < r.max.x && r.min.x < max.x && min.y < r.max.y && r.min.y < max.y; }
  Rect inset(float by) const { return {{min.x + by, min.y + by}, {max.x - by, max.y - by}}; }
};

enum class Align { left, center, right };

// --- text -------------------------------------------------------------------------------------------------------------------

float text_width(const ImFont* font, std::string_view text);
/// Returns the first of `texts`, long to short, that fits `width`, or the last.
std::string first_that_fits(const ImFont* font, float width, std::span<const std::string> texts);
std::string first_that_fits(const ImFont* font, float width, std::initializer_list<std::string> texts);
/// Returns `text` with its lines broken at `width`: only at blanks, and never between a number and its unit. ImGui alone would also
/// break after a decimal point.
std::string in_lines(const ImFont* font, std::string_view text, float width);
/// Returns the height of `text` wrapped at `width`.
float wrapped_height(const ImFont* font, std::string_view text, float width);
/// Returns `text`, shortened with "…" to fit `width`. Never cuts a character.
std::string elide(const ImFont* font, std::string_view text, float width);
/// Shortens a path in its middle, so that its beginning and its file are seen.
std::string elide_path(const ImFont* font, std::string_view path, float width);
/// Draws one line inside `rect`, vertically centred, elided.
void draw_text(ImDrawList* list, ImFont* font, const Rect& rect, ImU32 color, std::string_view text, Align align = Align::left);
/// Draws one line inside `rect` whole, in a smaller size where it would be cut. For figures, which are never shortened.
void draw_fitted_text(ImDrawList* list, ImFont* font, const Rect& rect, ImU32 color, std::string_view text,
                      Align align = Align::left);
/// Returns true if `text`, broken into lines, is in `width` and `height` without a word cut.
bool fits_in_lines(const ImFont* font, std::string_view text, float width, float height);
/// Draws a text inside `rect` in lines, whole and centred both ways, in a smaller size where they would not fit.
void draw_centered_lines(ImDrawList* list, ImFont* font, const Rect& rect, ImU32 color, std::string_view text);
/// Draws one line with its top left at `at`, not elided; returns its width.
float draw_text_at(ImDrawList* list, ImFont* font, ImVec2 at, ImU32 color, std::string_view text);
/// The same for a text that goes on in the line of the text before. A copy has `between` between them.
float draw_more_text_at(ImDrawList* list, ImFont* font, ImVec2 at, ImU32 color, std::string_view text, std::string_view between);
/// Draws a text with its top left at `at`, wrapped at `width`; adds no item.
void draw_wrapped(ImDrawList* list, ImFont* font, ImVec2 at, ImU32 color, std::string_view text, float width);
/// Adds an ImGui text item.
void text_item(ImFont* font, ImU32 color, std::string_view text);
/// Adds an ImGui text item wrapped at the panel's edge, or at `width`.
void wrapped_text(ImFont* font, ImU32 color, std::string_view text);
void wrapped_text(ImFont* font, ImU32 color, std::string_view text, float width);

// --- items ------------------------------------------------------------------------------------------------------------------

/// Adds a panel's first line: bold title, dim remark at the right.
void panel_heading(const Theme& theme, std::string_view title, std::string_view remark = {});
/// Adds a thin line across the panel.
void divider(const Theme& theme);
/// Adds a rounded button, filled with the accent when `on`. `width` 0 fits the label. The label may carry an ImGui "##id".
bool pill(const Theme& theme, const char* label, bool on, const char* tooltip = nullptr, float width = 0);
/// Returns the width of bold text and the room around it in a pill.
float button_width(const Theme& theme, std::string_view label);
/// Returns the width of what segmented() adds.
float segmented_width(const Theme& theme, std::span<const char* const> labels, bool small = false);
/// Adds a row of pills with one selected; returns the clicked index.
std::optional<int> segmented(const Theme& theme, const char* id, std::span<const char* const> labels, int selected,
                             bool small = false);
/// Adds a row "label … value", the value in the mono font at the right edge; `swatch` draws a tensor's square first.
/// Returns true while hovered.
bool key_value_row(const Theme& theme, std::string_view label, std::string_view value, std::optional<Tensor> swatch = {},
                   std::optional<ImU32> value_color = {});
/// Adds an invisible item over `rect` for hover and clicks; returns true when clicked.
bool hit_area(const char* id, const Rect& rect);
/// Returns the rectangle of the last item.
Rect item_rect();

/// Shows a tooltip for the last item while hovered: a bold title, then lines.
void item_tooltip(const Theme& theme, std::string_view title, std::string_view body = {});
/// Returns the text of the tooltip on screen; empty where there is none.
std::string shown_tooltip();
/// Writes a tooltip into the current window: a bold title, then lines.
void tooltip_text(const Theme& theme, std::string_view title, std::string_view body);
/// Shows a tooltip now, whatever is hovered.
void show_tooltip(const Theme& theme, std::string_view title, std::string_view body = {});

enum class Icon {
  first,
  back,
  play,
  pause,
  forward,
  last,
  sun,
  moon,
  help,
  present,
  close,
  plus,
  minus,
  reset,
  chevron,
  cancel,
  undo,
  redo,
  share,
  save
};
void draw_icon(ImDrawList* list, Icon icon, ImVec2 center, float size, ImU32 color);
/// Adds a round icon button; `tooltip` names the action and its key.
bool icon_button(const Theme& theme, const char* id, Icon icon, const char* tooltip, bool enabled = true, bool on = false);

// --- drawing ----------------------------------------------------------------------------------------------------------------

/// Gives the field `id` of this window the keyboard. ImGui's SetKeyboardFocusHere() does nothing while its navigation is off.
void activate_next_frame(const char* id);
/// Draws a tensor's square.
void draw_swatch(ImDrawList* list, const Theme& theme, ImVec2 min, float size, Tensor tensor);
/// Draws a horizontal bar, partly filled.
void draw_bar(ImDrawList* list, const Theme& theme, const Rect& rect, double fraction, ImU32 color);
/// Draws a matrix cell with its number if it is large enough (see cell_shows_number).
void draw_value_cell(ImDrawList* list, const Theme& theme, const Rect& rect, float value, ImU32 fill);
bool cell_shows_number(const Theme& theme, const Rect& rect);
/// Formats in at most four characters: "1.87", "-0.4", ".82", "12.3", "104", "-inf" as "−∞".
std::string short_number(float value);
/// Returns black or white, whichever contrasts more with `fill`.
ImU32 text_on(const Theme& theme, ImU32 fill);

/// A sentence in a box over the panels, at most `width` wide, that takes no clicks; red unless it is `good` news. `pivot` is the
/// part of the box that lies at `at`: {0, 1} is its lower left corner.
void message_box(const Theme& theme, const char* id, ImVec2 at, float width, std::string_view sentence, bool good = false,
                 ImVec2 pivot = {0, 0});

}  // namespace tilescope
