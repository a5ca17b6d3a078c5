// Reads the text of the edited field, because ImGui returns only the parsed number.
#include "app/ui/typed_limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <imgui_internal.h>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// The last refusal; only one field is edited at a time.
struct LimitNote {
  ImGuiID field = 0;
  std::string typed, sentence;
  double used = 0;
  int frame = 0;            // in which the field was last drawn
  bool confirming = false;  // the field is open again, with the value in use
};

/// Returns the text of the edited field.
std::optional<std::string> typed_into(ImGuiID field) {
  const ImGuiInputTextState* edited = ImGui::TempInputIsActive(field) ? ImGui::GetInputTextState(field) : nullptr;
  if (edited == nullptr || !edited->TextAIsValid || edited->CurLenA == 0) return std::nullopt;
  return std::string(edited->TextA.Data, static_cast<std::size_t>(edited->CurLenA));
}

/// Returns true while the edited text is unchanged.
bool as_it_began(std::string_view text) {
  const ImVector<char>& initial = ImGui::GetCurrentContext()->InputTextState.InitialTextA;
  return initial.Data != nullptr && text == initial.Data;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t+");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Parses all of `text` as a number, even beyond the range of the type.
template <class Number>
std::optional<double> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.front() == '-' ? -HUGE_VAL : HUGE_VAL;
  return static_cast<double>(number);
}

/// Formats like the field: whole numbers with all digits, large rates shortened.
std::string number_text(double value, bool whole) {
  constexpr double most_digits = 1e12, most_plain = 1e5;
  if (whole && std::fabs(value) < most_digits) return format_count(static_cast<std::int64_t>(value));
  return std::fabs(value) < most_plain ? fmt::format("{:g}", value) : format_short(value);
}

/// Draws a message_box(), moved up if the window would cut it.
void box_at(const Theme& theme, ImVec2 at, float width, std::string_view sentence) {
  const float height =
      wrapped_height(theme.ui, sentence, width - 3 * theme.padding) + 2 * ImGui::GetStyle().WindowPadding.y + 2 * theme.scale;
  const float lowest = ImGui::GetMainViewport()->Size.y - theme.gap - height;
  message_box(theme, "##limits", {at.x, std::max(theme.gap, std::min(at.y, lowest))}, width, sentence);
}

/// Returns a position right of `beside`, else left of its container, else below.
void draw_note(const Theme& theme, const Rect& beside, std::string_view sentence) {
  const float most = std::round(260 * theme.scale), least = std::round(160 * theme.scale), gap = theme.gap;
  const float after = beside.max.x + gap, room_after = ImGui::GetMainViewport()->Size.x - gap - after;
  const float before = ImGui::GetWindowPos().x - gap;
  if (room_after >= least) return box_at(theme, {after, beside.min.y}, std::min(most, room_after), sentence);
  const float needs = ImGui::CalcTextSize(sentence.data(), sentence.data() + sentence.size(), false, most - 3 * theme.padding).x +
                      2 * ImGui::GetStyle().WindowPadding.x;
  if (before - gap >= most) return box_at(theme, {before - needs, beside.min.y}, most, sentence);
  box_at(theme, {std::max(gap, std::min(beside.min.x, after + room_after - most)), beside.max.y + 2 * theme.scale}, most, sentence);
}

}  // namespace

std::string typed_refusal(std::string_view typed, const NumberLimits& limits, double used) {
  const std::string_view text = trimmed(typed);
  const std::optional<double> asked = limits.whole ? number_of<std::int64_t>(text) : number_of<double>(text);
  if (asked && *asked >= limits.low && *asked <= limits.high) return {};
  const char* const sentence = asked          ? tr("{} is out of range ({} to {}); using {}.")
                               : limits.whole ? tr("“{}” is not a whole number ({} to {}); using {}.")
                                              : tr("“{}” is not a number ({} to {}); using {}.");
  return say(sentence, std::string(text), number_text(limits.low, limits.whole), number_text(limits.high, limits.whole),
             number_text(used, limits.whole));
}

Rect item_and_button(float gap, const char* label) {
  Rect rect = item_rect();
  rect.max.x += gap + ImGui::CalcTextSize(label).x + 2 * ImGui::GetStyle().FramePadding.x;
  return rect;
}

void note_limits(const Theme& theme, const NumberLimits& limits, double value, const Rect& beside) {
  const ImGuiID field = ImGui::GetItemID();
  auto& note = panel_state<LimitNote>("limit note");
  const int frame = ImGui::GetFrameCount();
  if (note.field == field && note.frame + 1 < frame) note = {};
  if (const auto typed = typed_into(field)) {
    note.confirming = note.field == field && as_it_began(*typed);
    if (!as_it_began(*typed) && (note.field != field || note.typed != *typed))
      note = {field, *typed, with_units_kept(typed_refusal(*typed, limits, value)), value, frame};
  } else if (note.field == field && !ImGui::TempInputIsActive(field) && (note.confirming || value != note.used)) {
    note = {};
  }
  if (note.field != field) return;
  note.frame = frame;
  if (note.sentence.empty()) return;
  const Rect item = item_rect();
  ImGui::GetWindowDrawList()->AddRect(item.min, item.max, theme.bad, ImGui::GetStyle().FrameRounding, 0,
                                      std::max(1.0F, 1.5F * theme.scale));
  draw_note(theme, beside, note.sentence);
}

}  // namespace tilescope
