// Reads the text of the edited field, because ImGui returns only the parsed number.
#include "app/ui/typed_limits.h"

#include <algorithm>
#include <array>
#include <cctype>
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
  double since = 0;         // when it was typed
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
std::string number_text(double value, const NumberLimits& limits) {
  constexpr double most_digits = 1e12, most_plain = 1e5;
  const bool whole = limits.whole;
  if (limits.unit == FieldUnit::bytes) return format_capacity(Bytes(static_cast<std::int64_t>(value)));
  if (limits.unit == FieldUnit::bytes_per_second) return format_bandwidth(value);
  if (limits.unit == FieldUnit::hertz) return fmt::format("{:g} MHz", value / 1e6);
  if (whole && std::fabs(value) < most_digits) return format_count(static_cast<std::int64_t>(value));
  return std::fabs(value) < most_plain ? fmt::format("{:g}", value) : format_short(value);
}

/// Returns the factor of "k", "Mi" and so on, and takes them off `unit`.
double take_prefix(std::string& unit, FieldUnit kind) {
  const std::size_t power = unit.empty() ? std::string::npos : std::string_view("kmgt").find(unit.front());
  if (power == std::string::npos) return 1;
  unit.erase(0, 1);
  bool binary = kind == FieldUnit::bytes && unit.empty();
  if (!unit.empty() && unit.front() == 'i') {
    binary = true;
    unit.erase(0, 1);
  }
  return std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

bool is_unit(std::string_view unit, FieldUnit kind) {
  if (unit.empty()) return true;
  if (kind == FieldUnit::bytes) return unit == "b" || unit == "byte" || unit == "bytes";
  if (kind == FieldUnit::bytes_per_second) return unit == "b/s";
  return unit == "hz";
}

/// The item that is typed into, and its value before.
struct TypedItem {
  ImGuiID id = 0;
  double before = 0;
  int frame = 0;
};

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
  const float needs =
      text_width(theme.ui, in_lines(theme.ui, sentence, most - 3 * theme.padding)) + 2 * ImGui::GetStyle().WindowPadding.x;
  if (before - gap >= most) return box_at(theme, {before - needs, beside.min.y}, most, sentence);
  box_at(theme, {std::max(gap, std::min(beside.min.x, after + room_after - most)), beside.max.y + 2 * theme.scale}, most, sentence);
}

}  // namespace

void wait_for_pause(double since) {
  panel_state<double>("end of the pause") = since + typing_pause;
}

bool waits_for_pause() {
  return ImGui::GetTime() < panel_state<double>("end of the pause");
}

std::optional<std::string> typed_text() {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  if (context.ActiveId == 0 || !ImGui::TempInputIsActive(context.ActiveId)) return std::nullopt;
  return typed_into(context.ActiveId).value_or("");
}

std::optional<double> typed_number(std::string_view typed, const NumberLimits& limits) {
  const std::string_view text = trimmed(typed);
  if (limits.unit == FieldUnit::none) return limits.whole ? number_of<std::int64_t>(text) : number_of<double>(text);
  const std::size_t digits = text.find_first_not_of("0123456789.,");
  std::size_t end = digits == std::string_view::npos ? text.size() : digits;
  // "2e9": the exponent belongs to the number.
  if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E') && text.find_first_of("0123456789", end) <= end + 2)
    end = std::min(text.find_first_not_of("0123456789", end + 2), text.size());
  const std::optional<double> number = number_of<double>(text.substr(0, end));
  if (!number) return std::nullopt;
  std::string unit;
  for (const char c : text.substr(end))
    if (c != ' ') unit.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  const double factor = take_prefix(unit, limits.unit);
  if (!is_unit(unit, limits.unit)) return std::nullopt;
  return *number * factor;
}

std::string quantity_text(double value, FieldUnit unit) {
  constexpr double kibi = 1024, kilo = 1000;
  if (unit == FieldUnit::hertz) return fmt::format("{:.10g} MHz", value / 1e6);
  if (unit == FieldUnit::bytes_per_second) return fmt::format("{:.10g} GB/s", value / 1e9);
  if (unit == FieldUnit::none) return fmt::format("{:.10g}", value);
  constexpr std::array binary = {"B", "KiB", "MiB", "GiB", "TiB"}, decimal = {"B", "kB", "MB", "GB", "TB"};
  const auto split = [&](double step) {
    std::size_t power = 0;
    double left = value;
    for (; left >= step && std::fmod(left, step) == 0 && power + 1 < binary.size(); ++power) left /= step;
    return std::pair(left, power);
  };
  const auto [left, power] = split(kibi);
  const auto [left_decimal, power_decimal] = split(kilo);
  return power >= power_decimal ? fmt::format("{:.15g} {}", left, binary[power])
                                : fmt::format("{:.15g} {}", left_decimal, decimal[power_decimal]);
}

void drag_quantity(const char* label, double& value, const NumberLimits& limits) {
  if (type_quantity(label, value, limits)) return;
  const bool has_unit = limits.unit != FieldUnit::none;
  const std::string text = has_unit ? quantity_text(value, limits.unit) : limits.whole ? "%.0f" : "%.10g";
  const auto speed = static_cast<float>(std::max(std::fabs(value) * 0.01, limits.whole ? 0.25 : 1e-3));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImRect box(at, at + ImVec2(ImGui::CalcItemWidth(), ImGui::GetFrameHeight()));
  // A format without a field is shown as it is.
  if (ImGui::DragScalar(label, ImGuiDataType_Double, &value, speed, &limits.low, &limits.high, text.c_str(),
                        ImGuiSliderFlags_AlwaysClamp) &&
      limits.whole)
    value = std::round(value);
  const ImGuiID id = ImGui::GetItemID();
  if (!has_unit || !ImGui::TempInputIsActive(id)) return;
  // It was opened for typing just now, with the number alone: once more, with the unit.
  ImGui::GetCurrentContext()->TempInputId = 0;
  std::array<char, 64> typed = {};
  text.copy(typed.data(), typed.size() - 1);
  ImGui::TempInputText(box, id, label, typed.data(), static_cast<int>(typed.size()), ImGuiInputTextFlags_AutoSelectAll);
}

bool type_quantity(const char* label, double& value, const NumberLimits& limits) {
  const ImGuiID id = ImGui::GetID(label);
  if (limits.unit == FieldUnit::none || !ImGui::TempInputIsActive(id)) return false;
  auto& item = panel_state<TypedItem>("typed quantity");
  const int frame = ImGui::GetFrameCount();
  if (item.id != id || item.frame + 1 < frame) item = {id, value, frame};
  item.frame = frame;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImRect box(at, at + ImVec2(ImGui::CalcItemWidth(), ImGui::GetFrameHeight()));
  ImGui::ItemSize(box, ImGui::GetStyle().FramePadding.y);
  if (!ImGui::ItemAdd(box, id, &box, ImGuiItemFlags_Inputable)) return true;
  std::array<char, 64> text = {};
  ImGui::TempInputText(box, id, label, text.data(), static_cast<int>(text.size()), ImGuiInputTextFlags_AutoSelectAll);
  const std::optional<double> typed = typed_number(text.data(), limits);
  const bool valid = typed && *typed >= limits.low && *typed <= limits.high && !as_it_began(text.data());
  value = !valid ? item.before : limits.whole ? std::round(*typed) : *typed;
  return true;
}

std::string typed_refusal(std::string_view typed, const NumberLimits& limits, double used) {
  const std::string_view text = trimmed(typed);
  const std::optional<double> asked = typed_number(typed, limits);
  if (asked && *asked >= limits.low && *asked <= limits.high) return {};
  if (limits.unit != FieldUnit::none)
    return say(asked ? tr("{} is out of range ({} to {}); it stays {}.")
                     : tr("“{}” is not a number in this unit ({} to {}); it stays {}."),
               std::string(text), number_text(limits.low, limits), number_text(limits.high, limits), number_text(used, limits));
  const char* const sentence = asked          ? tr("{} is out of range ({} to {}); using {}.")
                               : limits.whole ? tr("“{}” is not a whole number ({} to {}); using {}.")
                                              : tr("“{}” is not a number ({} to {}); using {}.");
  return say(sentence, std::string(text), number_text(limits.low, limits), number_text(limits.high, limits),
             number_text(used, limits));
}

Rect item_and_button(float gap, const char* label) {
  Rect rect = item_rect();
  rect.max.x += gap + ImGui::CalcTextSize(label).x + 2 * ImGui::GetStyle().FramePadding.x;
  return rect;
}

void note_clamped(const char* label, const NumberLimits& limits, double asked, double used) {
  const std::string text = fmt::format("{:.15g}", asked);
  panel_state<LimitNote>("limit note") = {
      ImGui::GetID(label), text, with_units_kept(typed_refusal(text, limits, used)), used, ImGui::GetFrameCount(), -typing_pause};
}

namespace {

/// Why a field that is dragged does not follow the mouse any more; empty where it does.
std::string drag_stop(const NumberLimits& limits, double value) {
  const float pulled = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left).x;
  if (!ImGui::IsItemActive() || ImGui::TempInputIsActive(ImGui::GetItemID())) return {};
  if (value >= limits.high && pulled > 0) return say(tr("{} is the largest possible value."), number_text(limits.high, limits));
  if (value <= limits.low && pulled < 0) return say(tr("{} is the smallest possible value."), number_text(limits.low, limits));
  return {};
}

}  // namespace

void note_limits(const Theme& theme, const NumberLimits& limits, double value, const Rect& beside) {
  const ImGuiID field = ImGui::GetItemID();
  if (const std::string stop = drag_stop(limits, value); !stop.empty()) return draw_note(theme, beside, stop);
  auto& note = panel_state<LimitNote>("limit note");
  const int frame = ImGui::GetFrameCount();
  if (note.field == field && note.frame + 1 < frame) note = {};
  if (const auto typed = typed_into(field)) {
    note.confirming = note.field == field && as_it_began(*typed);
    if (!as_it_began(*typed) && (note.field != field || note.typed != *typed))
      note = {field, *typed, with_units_kept(typed_refusal(*typed, limits, value)), value, frame, ImGui::GetTime()};
  } else if (note.field == field && !ImGui::TempInputIsActive(field) && (note.confirming || value != note.used)) {
    note = {};
  }
  if (note.field != field) return;
  note.frame = frame;
  const bool unfinished = ImGui::TempInputIsActive(field) && ImGui::GetTime() - note.since < typing_pause;
  if (note.sentence.empty() || unfinished) return;
  const Rect item = item_rect();
  ImGui::GetWindowDrawList()->AddRect(item.min, item.max, theme.bad, ImGui::GetStyle().FrameRounding, 0,
                                      std::max(1.0F, 1.5F * theme.scale));
  draw_note(theme, beside, note.sentence);
}

}  // namespace tilescope
