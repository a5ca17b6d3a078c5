// Stops by the ids of their items, frame by frame.
#include "app/ui/tab_stops.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <imgui_internal.h>

#include "app/ui/panel_state.h"

namespace tilescope {

namespace {

struct TabStops {
  std::vector<ImGuiID> drawn, last;  // in this frame so far, and in the one before
  int frame = -1;
  ImGuiID focused = 0;
  int left = -1;      // the frame in which Tab went beyond the ends,
  int direction = 0;  // and by which
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

}  // namespace

bool tab_stop(const Theme& theme, const Rect& rect, float rounding) {
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  const ImGuiID id = ImGui::GetItemID();
  if ((window->Flags & ImGuiWindowFlags_NoNavInputs) == 0 || id == 0) return false;
  TabStops& stops = stops_of_frame();
  stops.drawn.push_back(id);
  if (stops.focused != id) return false;
  const float width = std::max(1.0F, 2 * theme.scale);
  ImGui::GetWindowDrawList()->AddRect({rect.min.x - width, rect.min.y - width}, {rect.max.x + width, rect.max.y + width},
                                      theme.highlight, rounding + width, 0, width);
  const bool elsewhere = ImGui::GetIO().WantTextInput || ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  return !elsewhere && (ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false));
}

void move_tab_stop(int direction) {
  TabStops& stops = stops_of_frame();
  const auto& ids = stops.drawn.empty() ? stops.last : stops.drawn;
  if (ids.empty()) return;
  const auto at = std::find(ids.begin(), ids.end(), stops.focused);
  if (at == ids.end())
    stops.focused = direction > 0 ? ids.front() : ids.back();
  else if (direction > 0)
    stops.focused = at + 1 == ids.end() ? 0 : *(at + 1);
  else
    stops.focused = at == ids.begin() ? 0 : *(at - 1);
  if (stops.focused != 0) return;
  stops.left = stops.frame;
  stops.direction = direction;
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
