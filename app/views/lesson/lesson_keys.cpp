// Focus of the lesson panel. ImGui's own navigation is off in the window, because its arrows belong to the playhead.
#include "app/views/lesson/lesson_keys.h"

#include <algorithm>
#include <cmath>

#include "app/ui/panel_state.h"
#include "app/ui/tab_stops.h"

namespace tilescope {

namespace {

/// The last frame in which Space belonged to the lesson.
int& space_frame() {
  struct Frame {
    int number = -2;
  };
  return panel_state<Frame>("lesson takes space").number;
}

}  // namespace

bool lesson_takes_space() {
  return ImGui::GetFrameCount() - space_frame() <= 1;
}

LessonKeys::LessonKeys(LessonFocus& focus, const Theme& theme, bool active, bool asks)
    : focus_(focus), theme_(theme), current_(focus.item), active_(active), moved_(focus.moved), stays_(focus.stays) {
  focus_.moved = focus_.stays = false;
  if (const int by = take_tab_beyond(); by != 0) {
    focus_.item = by > 0 ? 0 : focus_.count - 1;
    focus_.moved = focus_.shown = true;
  }
  active_ = active_ && !tab_stop_has_focus();
  if (!active_) return;
  enter_ = ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false);
  if (enter_) focus_.shown = true;
  if (!asks || !focus_.shown) return;
  enter_ = enter_ || ImGui::IsKeyPressed(ImGuiKey_Space, false);
  space_frame() = ImGui::GetFrameCount();
}

LessonKeys::~LessonKeys() {
  focus_.count = next_;
  if (!active_) return;
  int by = 0;
  if (ImGui::IsKeyPressed(ImGuiKey_Tab, true)) {
    // Beyond its ends come the controls of the window, and after those the lesson again.
    by = ImGui::GetIO().KeyShift ? -1 : 1;
    const int beyond = focus_.item + by;
    if (beyond < 0 || beyond >= next_) {
      move_tab_stop(by);
      return;
    }
  }
  if (!arrows_taken_ && ImGui::IsKeyPressed(ImGuiKey_DownArrow, true)) by = 1;
  if (!arrows_taken_ && ImGui::IsKeyPressed(ImGuiKey_UpArrow, true)) by = -1;
  if (by != 0 && next_ > 0) {
    focus_.item = (focus_.item + by + next_) % next_;
    focus_.moved = focus_.shown = true;
  }
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) focus_.shown = false;
  focus_.item = std::clamp(focus_.item, 0, std::max(0, next_ - 1));
}

bool LessonKeys::item(const Rect& rect) {
  here_ = next_++ == current_;
  if (!here_) return false;
  if (focus_.shown && active_)
    ImGui::GetWindowDrawList()->AddRect({rect.min.x - 2, rect.min.y - 2}, {rect.max.x + 2, rect.max.y + 2}, theme_.accent,
                                        7 * theme_.scale, 0, std::max(1.5F, 2 * theme_.scale));
  if (moved_ && !stays_) {
    const ImVec2 low = ImGui::GetWindowPos();
    const float high = low.y + ImGui::GetWindowHeight(), margin = 8 * theme_.scale;
    if (rect.min.y < low.y + margin) ImGui::SetScrollY(std::max(0.0F, ImGui::GetScrollY() - (low.y + margin - rect.min.y)));
    if (rect.max.y > high - margin) ImGui::SetScrollY(ImGui::GetScrollY() + rect.max.y - high + margin);
  }
  return true;
}

void LessonKeys::go(int item) {
  focus_.item = item;
  focus_.moved = true;
}

}  // namespace tilescope
