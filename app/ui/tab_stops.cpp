// Stops by the ids of their items, frame by frame.
#include "app/ui/tab_stops.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <imgui_internal.h>

#include "app/ui/panel_state.h"

namespace tilescope {

namespace {

struct Stop {
  ImGuiID id = 0, group = 0;
  Rect rect;
};

struct TabStops {
  std::vector<Stop> drawn, last;  // in this frame so far, and in the one before
  int frame = -1;
  ImGuiID focused = 0;
  std::map<ImGuiID, ImGuiID> left_at;  // by group, the stop that had the focus last
  bool moved = false;                  // to a stop that may be out of sight
  bool last_is_focused = false;        // of those drawn
  int left = -1;                       // the frame in which Tab went beyond the ends,
  int direction = 0;                   // and by which
};

TabStops& stops_of_frame() {
  auto& stops = panel_state<TabStops>("tab stops");
  if (const int frame = ImGui::GetFrameCount(); stops.frame != frame) {
    stops.last = std::exchange(stops.drawn, {});
    stops.frame = frame;
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) stops.focused = 0;
  }
  return stops;
}

const std::vector<Stop>& known_stops(const TabStops& stops) {
  return stops.drawn.empty() ? stops.last : stops.drawn;
}

const Stop* find_stop(const TabStops& stops, ImGuiID id) {
  const auto& all = known_stops(stops);
  const auto at = std::ranges::find(all, id, &Stop::id);
  return id == 0 || at == all.end() ? nullptr : &*at;
}

void focus(TabStops& stops, const Stop& stop) {
  stops.focused = stop.id;
  stops.moved = true;
  if (stop.group != 0) stops.left_at[stop.group] = stop.id;
}

/// How far `to` lies from `from` in that direction: along it, then beside it. Infinite where it lies elsewhere.
float distance(const Rect& from, const Rect& to, ImGuiDir direction) {
  const bool across = direction == ImGuiDir_Left || direction == ImGuiDir_Right;
  const float sign = direction == ImGuiDir_Left || direction == ImGuiDir_Up ? -1.0F : 1.0F;
  const ImVec2 by = {to.center().x - from.center().x, to.center().y - from.center().y};
  const float along = sign * (across ? by.x : by.y), beside = std::abs(across ? by.y : by.x);
  constexpr float least = 0.5F, weight = 4;  // a cell of the same row or column is nearer than one beside it
  return along < least ? INFINITY : along + weight * beside;
}

}  // namespace

bool tab_stop(const Theme& theme, const Rect& rect, float rounding, ImGuiID group) {
  return tab_stop(theme, ImGui::GetItemID(), rect, rounding, group);
}

bool tab_stop(const Theme& theme, ImGuiID id, const Rect& rect, float rounding, ImGuiID group) {
  ImGuiWindow* window = ImGui::GetCurrentWindow();
  TabStops& stops = stops_of_frame();
  stops.last_is_focused = false;
  if ((window->Flags & ImGuiWindowFlags_NoNavInputs) == 0 || id == 0) return false;
  stops.drawn.push_back({id, group, rect});
  if (stops.focused != id) return false;
  stops.last_is_focused = true;
  if (std::exchange(stops.moved, false)) ImGui::ScrollToRect(window, {rect.min, rect.max}, ImGuiScrollFlags_KeepVisibleEdgeY);
  const float width = std::max(1.0F, 2 * theme.scale);
  ImGui::GetWindowDrawList()->AddRect({rect.min.x - width, rect.min.y - width}, {rect.max.x + width, rect.max.y + width},
                                      theme.highlight, rounding + width, 0, width);
  const bool elsewhere = ImGui::GetIO().WantTextInput || ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  return !elsewhere && (ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false));
}

void field_stop(const Theme& theme, const char* label) {
  if (tab_stop(theme, item_rect(), 4 * theme.scale)) activate_next_frame(label);
}

void combo_stop(const Theme& theme) {
  const ImGuiID combo = ImGui::GetItemID();
  if (tab_stop(theme, item_rect(), 4 * theme.scale)) ImGui::OpenPopupEx(ImHashStr("##ComboPopup", 0, combo));
}

bool small_button_stop(const Theme& theme, const char* label) {
  const bool clicked = ImGui::SmallButton(label);
  return tab_stop(theme, item_rect(), 3 * theme.scale) || clicked;
}

void stop_tooltip(const Theme& theme, const Rect& stop, std::string_view title, std::string_view body) {
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  const float gap = 10 * theme.scale, widest = std::round(400 * theme.scale);
  const bool right = stop.max.x + gap + widest <= window.x || stop.min.x < widest, upper = stop.center().y < 0.5F * window.y;
  ImGui::SetNextWindowPos({right ? stop.max.x + gap : stop.min.x - gap, upper ? stop.min.y : stop.max.y}, ImGuiCond_Always,
                          {right ? 0.0F : 1.0F, upper ? 0.0F : 1.0F});
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_Tooltip | ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoDecoration |
                                     ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoNav;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(std::round(10 * theme.scale), std::round(8 * theme.scale)));
  if (ImGui::Begin("##stop tooltip", nullptr, flags)) tooltip_text(theme, title, body);
  ImGui::End();
  ImGui::PopStyleVar();
}

bool tab_stop_is_focused() {
  return stops_of_frame().last_is_focused;
}

void move_tab_stop(int direction) {
  TabStops& stops = stops_of_frame();
  const auto& all = known_stops(stops);
  if (all.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  const Stop* const now = find_stop(stops, stops.focused);
  std::ptrdiff_t at = now != nullptr ? now - all.data() : direction > 0 ? -1 : count;
  const ImGuiID group = now != nullptr ? now->group : 0;
  do at += direction;
  while (at >= 0 && at < count && group != 0 && all[static_cast<std::size_t>(at)].group == group);
  if (at < 0 || at >= count) {
    stops.focused = 0;
    stops.left = stops.frame;
    stops.direction = direction;
    return;
  }
  const Stop* to = &all[static_cast<std::size_t>(at)];
  if (to->group != 0) {  // where the arrows were last, or at its first
    const auto first = std::ranges::find(all, to->group, &Stop::group);
    const Stop* const before = find_stop(stops, stops.left_at[to->group]);
    to = before != nullptr && before->group == to->group ? before : &*first;
  }
  focus(stops, *to);
}

void move_in_group(ImGuiDir direction) {
  TabStops& stops = stops_of_frame();
  const Stop* const now = find_stop(stops, stops.focused);
  if (now == nullptr || now->group == 0) return;
  const Stop* nearest = nullptr;
  float least = INFINITY;
  for (const Stop& each : known_stops(stops)) {
    if (each.group != now->group) continue;
    const float away = distance(now->rect, each.rect, direction);
    if (away >= least) continue;
    least = away;
    nearest = &each;
  }
  if (nearest != nullptr) focus(stops, *nearest);
}

bool tab_group_has_focus() {
  const TabStops& stops = stops_of_frame();
  const Stop* const now = find_stop(stops, stops.focused);
  return now != nullptr && now->group != 0;
}

Rect focused_tab_stop() {
  const TabStops& stops = stops_of_frame();
  const Stop* const now = find_stop(stops, stops.focused);
  return now != nullptr ? now->rect : Rect{};
}

void focus_tab_stop(ImGuiID id) {
  TabStops& stops = stops_of_frame();
  stops.focused = id;
  stops.moved = true;
}

bool tab_stop_has_focus() {
  const TabStops& stops = stops_of_frame();
  return stops.focused != 0 || stops.left == stops.frame;
}

int take_tab_beyond() {
  TabStops& stops = stops_of_frame();
  return stops.frame - stops.left <= 1 ? std::exchange(stops.direction, 0) : 0;
}

bool leave_tab_stops() {
  return std::exchange(stops_of_frame().focused, 0) != 0;
}

}  // namespace tilescope
