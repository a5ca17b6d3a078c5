// Maps keys to commands.
#include "app/views/keys.h"

#include <algorithm>
#include <array>

#include <imgui_internal.h>

#include "app/model/lesson.h"
#include "app/model/lesson_list.h"
#include "app/model/lesson_runs.h"
#include "app/model/playhead.h"
#include "app/ui/layout.h"

namespace tilescope {

namespace {

bool pressed(ImGuiKey key, bool repeat = false) {
  return ImGui::IsKeyPressed(key, repeat);
}

/// Returns true if `modifier` is down or was down at a key press of this frame; it may be released first.
bool held(ImGuiKey modifier) {
  if ((ImGui::GetIO().KeyMods & modifier) != 0) return true;
  bool key_down = false;
  for (const ImGuiInputEvent& event : ImGui::GetCurrentContext()->InputEventsTrail) {
    if (event.Type != ImGuiInputEventType_Key) continue;
    if (event.Key.Key == modifier && !event.Key.Down && key_down) return true;
    key_down = key_down || event.Key.Down;
  }
  return false;
}

/// Returns true for a typed character, on any keyboard layout.
bool typed(char wanted) {
  const auto& queue = ImGui::GetIO().InputQueueCharacters;
  return std::find(queue.begin(), queue.end(), static_cast<ImWchar>(wanted)) != queue.end();
}

double next_speed(double speed, int direction) {
  if (direction > 0) {
    const auto faster = std::find_if(playing_speeds.begin(), playing_speeds.end(), [&](double s) { return s > speed * 1.01; });
    return faster == playing_speeds.end() ? playing_speeds.back() : *faster;
  }
  const auto slower = std::find_if(playing_speeds.rbegin(), playing_speeds.rend(), [&](double s) { return s < speed * 0.99; });
  return slower == playing_speeds.rend() ? playing_speeds.front() : *slower;
}

/// Page Up and Page Down turn the pages of a lesson; before a class, the next click shows the answer.
void handle_lesson(const View& view, Commands& commands) {
  if (pressed(ImGuiKey_PageUp)) commands.push(TurnLessonPage{-1});
  if (!pressed(ImGuiKey_PageDown)) return;
  if (!view.lesson.locked || !view.workspace->present) return commands.push(TurnLessonPage{1});
  LessonAnswer none;
  none.given = false;
  commands.push(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
}

/// Whether the arrows move the points of a curve.
bool draws_curve(const View& view) {
  if (view.lesson.lesson == nullptr || !view.lesson.locked) return false;
  return view.lesson.lesson->pages[view.lesson.page].ask->kind == QuestionKind::draw;
}

void handle_steps(const View& view, Commands& commands) {
  const Grain grain = held(ImGuiMod_Ctrl) ? Grain::phase : held(ImGuiMod_Shift) ? Grain::tile : view.playback.grain;
  const bool arrows = !draws_curve(view), pages = view.lesson.lesson == nullptr;
  if ((arrows && pressed(ImGuiKey_RightArrow, true)) || (pages && pressed(ImGuiKey_PageDown, true))) commands.push(Step{1, grain});
  if ((arrows && pressed(ImGuiKey_LeftArrow, true)) || (pages && pressed(ImGuiKey_PageUp, true))) commands.push(Step{-1, grain});
  if (pressed(ImGuiKey_Home)) commands.push(SeekStep{0});
  if (pressed(ImGuiKey_End) && !view.lanes.empty()) commands.push(SeekStep{view.lane().step_count});
  if (pressed(ImGuiKey_Space)) commands.push(SetPlaying{!view.playback.playing});
}

std::string next_side(std::string_view side) {
  const auto now = std::find(side_panels.begin(), side_panels.end(), side);
  const bool last = now == side_panels.end() || now + 1 == side_panels.end();
  return std::string(last ? side_panels.front() : *(now + 1));
}

void handle_escape(const View& view, Commands& commands) {
  if (view.workspace->help) return commands.push(ShowHelp{false});
  if (view.work.seconds > 0) return commands.push(CancelWork{});
  if (!view.workspace->alone.empty()) return commands.push(SetAlone{});
  if (view.workspace->present) return commands.push(SetPresent{false});
  if (view.playback.playing) return commands.push(SetPlaying{false});
  if (view.lesson.offered) commands.push(DeclineLessons{});
}

}  // namespace

float handle_keys(const View& view, std::string_view under_mouse, Commands& commands) {
  if (view.lesson.lesson != nullptr) handle_lesson(view, commands);
  if (ImGui::GetIO().WantTextInput) return 1;
  const bool popup = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  if (held(ImGuiMod_Ctrl)) {
    if (pressed(ImGuiKey_Equal) || pressed(ImGuiKey_KeypadAdd)) return 1.1F;
    if (pressed(ImGuiKey_Minus) || pressed(ImGuiKey_KeypadSubtract)) return 1 / 1.1F;
    if (pressed(ImGuiKey_0) || pressed(ImGuiKey_Keypad0)) return 0;
  }
  handle_steps(view, commands);
  if (!popup && view.lesson.offered && pressed(ImGuiKey_Enter)) commands.push(OpenLesson{view.lesson.list->lessons.front().id, 0});
  if (!popup && pressed(ImGuiKey_Escape)) handle_escape(view, commands);
  if (pressed(ImGuiKey_F5)) commands.push(Measure{});
  if (pressed(ImGuiKey_F11)) commands.push(SetPresent{!view.workspace->present});
  if (pressed(ImGuiKey_F1) || typed('?')) commands.push(ShowHelp{!view.workspace->help});
  // Over an open menu, digits and letters belong to the menu.
  if (popup || held(ImGuiMod_Ctrl) || held(ImGuiMod_Alt) || held(ImGuiMod_Super)) return 1;
  if (typed('+') || typed('=')) commands.push(SetSpeed{next_speed(view.playback.speed, 1)});
  if (typed('-')) commands.push(SetSpeed{next_speed(view.playback.speed, -1)});
  for (std::size_t i = 0; i < center_views().size() && i < 9; ++i)
    if (pressed(static_cast<ImGuiKey>(ImGuiKey_1 + static_cast<int>(i)))) commands.push(SetCenter{center_views()[i].view});
  if (pressed(ImGuiKey_Z)) commands.push(SetAlone{std::string(view.workspace->alone.empty() ? under_mouse : "")});
  if (pressed(ImGuiKey_S)) commands.push(SetSide{next_side(view.workspace->side)});
  if (pressed(ImGuiKey_R)) commands.push(SetRace{!view.playback.race});
  if (pressed(ImGuiKey_L)) commands.push(SetLanes{!view.workspace->by_sm});
  if (pressed(ImGuiKey_T)) commands.push(SetThemeKind{view.theme->kind == ThemeKind::dark ? ThemeKind::light : ThemeKind::dark});
  return 1;
}

std::span<const KeyHelp> key_help() {
  static constexpr std::array<KeyHelp, 19> rows = {{
      {"Space", "Play or pause"},
      {"← →", "Step back or forward by the chosen step size"},
      {"⇧ ← →", "Step by one tile iteration"},
      {"Ctrl ← →", "Step by one launch"},
      {"Page Up, Page Down", "Step with a clicker; in a lesson: turn the page"},
      {"Tab, ↑ ↓, Enter", "In a lesson: choose and answer"},
      {"Home, End", "First or last step"},
      {"+ −", "Faster or slower"},
      {"1 2 3 …", "Choose the middle view"},
      {"Z", "Maximise the panel under the mouse (or double-click its title)"},
      {"S", "With large text: choose the side panel"},
      {"R", "Race against standard attention"},
      {"L", "Timeline rows: units of one SM, or all SMs"},
      {"T", "Dark or light"},
      {"F5", "Measure this problem on this machine's GPU"},
      {"F11", "Present: large text, no controls"},
      {"Ctrl + −", "Larger or smaller text; Ctrl 0 for the default"},
      {"Esc", "Cancel, close, or leave the presentation"},
      {"?", "This list"},
  }};
  return rows;
}

}  // namespace tilescope
