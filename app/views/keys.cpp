// Maps keys to commands.
#include "app/views/keys.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/run_data/timeline_data.h"
#include "app/model/run_data/timeline_search.h"
#include "app/model/state/playhead.h"
#include "app/ui/key_hold.h"
#include "app/ui/layout.h"
#include "app/ui/panel_state.h"
#include "app/ui/tab_stops.h"
#include "app/ui/text_record.h"
#include "app/ui/widgets.h"
#include "app/views/chrome.h"
#include "app/views/lesson/lesson_clicker.h"
#include "app/views/lesson/lesson_keys.h"
#include "app/views/lesson/question.h"
#include "app/views/study_panel.h"
#include "app/views/terms.h"

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

/// Whether the clicker turns the scenes of a deck: a page of a lesson may be one of them.
bool turns_scenes(const View& view) {
  const LessonView& lesson = view.lesson;
  return view.lecture->count() > 0 && (lesson.lesson == nullptr || view.lecture->shows(lesson));
}

/// With Ctrl the scene before or after comes at once, whatever is left of steps, text and answer. Returns whether it was asked for.
bool leaves_scene(const View& view, int direction, Commands& commands) {
  if (!held(ImGuiMod_Ctrl) || !turns_scenes(view)) return false;
  const int to = view.lecture->scene() + direction;
  if (view.lecture->at(to) != nullptr) commands.push(GoToScene{to});
  return true;
}

constexpr std::array page_keys = {std::pair{ImGuiKey_PageUp, -1}, std::pair{ImGuiKey_PageDown, 1}};

/// Page Up and Page Down turn the pages of a lesson, or the scenes of a deck where its page is one; before a class they go through
/// all of its text first.
void handle_lesson(const View& view, Commands& commands) {
  for (const auto& [key, direction] : page_keys) {
    if (!pressed(key) || leaves_scene(view, direction, commands)) continue;
    if (view.workspace->present)
      click_lesson(view, direction, commands);
    else
      turn_page(view, direction, commands);
  }
}

/// Whether the arrows move the points of a curve.
bool draws_curve(const View& view) {
  if (view.lesson.lesson == nullptr || !view.lesson.locked) return false;
  return view.lesson.lesson->pages[view.lesson.page].ask->kind == QuestionKind::draw;
}

/// Page Up and Page Down turn the pages of a deck; without one they step.
void handle_pages(const View& view, Commands& commands) {
  if (view.lesson.lesson != nullptr) return;        // its pages are turned already
  const bool repeats = view.lecture->count() == 0;  // a scene is turned once a press
  for (const auto& [key, direction] : page_keys)
    if (pressed(key, repeats) && !leaves_scene(view, direction, commands)) commands.push(TurnPage{direction});
}

/// The arrows go through the table or the map that Tab has reached. Returns whether they are its own.
bool handle_group() {
  if (!tab_group_has_focus()) return false;
  constexpr std::pair<ImGuiKey, ImGuiDir> arrows[] = {{ImGuiKey_LeftArrow, ImGuiDir_Left},
                                                      {ImGuiKey_RightArrow, ImGuiDir_Right},
                                                      {ImGuiKey_UpArrow, ImGuiDir_Up},
                                                      {ImGuiKey_DownArrow, ImGuiDir_Down}};
  bool any = false;
  for (const auto& [key, direction] : arrows) {
    if (!pressed(key, true)) continue;
    any = true;
    move_in_group(direction);
  }
  return any;
}

void handle_steps(const View& view, Commands& commands) {
  const Grain grain = held(ImGuiMod_Ctrl) ? Grain::phase : held(ImGuiMod_Shift) ? Grain::tile : view.playback.grain;
  const bool banks = view.workspace->center == CenterView::banks;  // the arrows step its wavefronts
  if (held(ImGuiMod_Alt) || handle_group()) return;                // Alt and the arrows are the timeline's
  const bool arrows = !draws_curve(view) && !banks;
  if (arrows && pressed(ImGuiKey_RightArrow, true)) commands.push(Step{1, grain});
  if (arrows && pressed(ImGuiKey_LeftArrow, true)) commands.push(Step{-1, grain});
  const bool pages = view.lesson.lesson == nullptr;
  const bool ladder = view.workspace->center == CenterView::ladder;  // ↑ and ↓ choose its rung
  if (pages && !banks && !ladder && !view.lanes.empty()) {
    const int last_row = static_cast<int>(view.lane().simulation->program->tile().block_q) - 1, row = view.workspace->row;
    if (pressed(ImGuiKey_DownArrow, true)) commands.push(SelectRow{std::min(row + 1, std::max(0, last_row))});
    if (pressed(ImGuiKey_UpArrow, true)) commands.push(SelectRow{std::max(0, row - 1)});
  }
  if (!banks && pressed(ImGuiKey_Home)) commands.push(SeekStep{0});
  if (!banks && pressed(ImGuiKey_End) && !view.lanes.empty()) commands.push(SeekStep{view.lane().step_count});
  if (pressed(ImGuiKey_Space) && !lesson_takes_space()) commands.push(SetPlaying{!view.playback.playing});
}

void focus_next_sm(const View& view, int direction, Commands& commands) {
  if (view.lanes.empty()) return;
  const int count = static_cast<int>(view.lane().simulation->request.gpu.sm_count);
  commands.push(SetFocusSm{(view.lane().focus_sm + direction + count) % count});
}

std::string next_side(std::string_view side) {
  const auto now = std::find(side_panels.begin(), side_panels.end(), side);
  const bool last = now == side_panels.end() || now + 1 == side_panels.end();
  return std::string(last ? side_panels.front() : *(now + 1));
}

void handle_escape(const View& view, Commands& commands) {
  if (view.workspace->help) return commands.push(ShowHelp{false});
  if (view.lecture->asking) return commands.push(AskClass{false});
  if (view.workspace->find) return commands.push(ShowFind{false});
  if (view.lecture->listed) return commands.push(ShowScenes{false});
  if (view.work.seconds > 0 || shows_running_study()) return commands.push(CancelWork{});
  if (view.workspace->range) return commands.push(SetTimeRange{});
  if (view.workspace->center == CenterView::ladder && !view.workspace->rung.empty()) return commands.push(SetRung{});
  if (!view.workspace->alone.empty()) return commands.push(SetAlone{});
  if (view.workspace->present) return commands.push(SetPresent{false});
  if (view.playback.playing) return commands.push(SetPlaying{false});
  if (view.lesson.offered) commands.push(DeclineLessons{});
}

/// Any key or click brings the picture back from a black screen, and does nothing else.
void handle_blank(Commands& commands) {
  const auto modifies = [](int key) { return key >= ImGuiKey_LeftCtrl && key <= ImGuiKey_RightSuper; };
  bool back = ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_GamepadStart; ++key)
    back = back || (!modifies(key) && pressed(static_cast<ImGuiKey>(key)));
  if (back) commands.push(SetBlank{false});
}

/// A field for raised hands takes digits only: the keys of a clicker and those that close the question still work.
void handle_counting(const View& view, Commands& commands) {
  if (pressed(ImGuiKey_Q) || pressed(ImGuiKey_Escape)) return commands.push(AskClass{false});
  if (pressed(ImGuiKey_B) || typed('.')) commands.push(SetBlank{true});
  handle_pages(view, commands);
}

/// The search, at the term under the mouse where there is one.
void open_find(const View& view, Commands& commands) {
  if (view.workspace->find) return commands.push(ShowFind{false});
  const std::optional<TextAt> text = text_under_mouse();
  std::string about = text ? text->line : std::string();
  if (view.glossary != nullptr && text)
    for (const FoundTerm& found : view.glossary->terms_in(text->line, view.workspace->language))
      if (text->byte >= found.first && text->byte < found.last) about = text->line.substr(found.first, found.last - found.first);
  const auto entries = entries_in(view, about);
  commands.push(ShowFind{true, entries.empty() ? std::string() : entries.front()->text(view.workspace->language).term});
}

/// Letters without Ctrl, Alt or Super.
void handle_letters(const View& view, std::string_view under_mouse, Commands& commands) {
  if (pressed(ImGuiKey_Z)) commands.push(SetAlone{std::string(view.workspace->alone.empty() ? under_mouse : "")});
  if (pressed(ImGuiKey_S)) commands.push(SetSide{next_side(view.workspace->side)});
  if (pressed(ImGuiKey_R)) push_race(view, commands);
  if (pressed(ImGuiKey_L) && !view.workspace->present) commands.push(SetLanes{!view.workspace->by_sm});  // else the pointer
  if (pressed(ImGuiKey_M)) commands.push(Measure{});
  if (pressed(ImGuiKey_B)) commands.push(SetBlank{true});
  if (pressed(ImGuiKey_Q)) commands.push(AskClass{!view.lecture->asking});
  if (pressed(ImGuiKey_D)) commands.push(ShowScenes{!view.lecture->listed});
  if (pressed(ImGuiKey_P)) {
    if (held(ImGuiMod_Shift))
      commands.push(RestartTimer{});
    else
      commands.push(ShowPresenter{!view.lecture->presenter});
  }
  if (pressed(ImGuiKey_K)) commands.push(PinRun{});
  if (pressed(ImGuiKey_W, true)) go_to_stall(view, held(ImGuiMod_Shift) ? -1 : 1, commands);
  if (pressed(ImGuiKey_T)) commands.push(SetThemeKind{view.theme->kind == ThemeKind::dark ? ThemeKind::light : ThemeKind::dark});
}

/// The text-size factor of Ctrl with +, − or 0; 1 without them.
float text_size_factor() {
  if (!held(ImGuiMod_Ctrl) || held(ImGuiMod_Alt)) return 1;  // both are AltGr, which types letters
  if (pressed(ImGuiKey_Equal) || pressed(ImGuiKey_KeypadAdd)) return 1.1F;
  if (pressed(ImGuiKey_Minus) || pressed(ImGuiKey_KeypadSubtract)) return 1 / 1.1F;
  if (pressed(ImGuiKey_0) || pressed(ImGuiKey_Keypad0)) return 0;
  return 1;
}

/// Undo, links, scenes and the search.
void handle_sharing(const View& view, Commands& commands) {
  const bool back = held(ImGuiMod_Shift);
  if (pressed(ImGuiKey_Z, true)) back ? commands.push(Redo{}) : commands.push(Undo{});
  if (pressed(ImGuiKey_Y, true)) commands.push(Redo{});
  if (pressed(ImGuiKey_D)) commands.push(BookmarkState{});
  if (pressed(ImGuiKey_C) && !back && !view.lanes.empty()) copy_link(view, commands);
  if (pressed(ImGuiKey_V)) paste_link(commands);
  if (pressed(ImGuiKey_F)) open_find(view, commands);
}

}  // namespace

void begin_presenting(const View& view, Commands& commands) {
  const bool begins = !view.workspace->present && view.lesson.lesson == nullptr && view.lecture->count() > 0;
  const bool goes_on = held(ImGuiMod_Shift);
  commands.push(SetPresent{true});
  if (!goes_on) commands.push(RestartTimer{});
  if (begins && !goes_on) commands.push(GoToScene{0});
}

void copy_link(const View& view, Commands& commands) {
  ImGui::SetClipboardText(fmt::format("tilescope:{}", to_link(window_state_of(view))).c_str());
  commands.push(ShowNotice{Notice::link_copied});
}

void paste_link(Commands& commands) {
  if (const char* text = ImGui::GetClipboardText(); text != nullptr && *text != '\0') commands.push(OpenLink{text});
}

void go_to_stall(const View& view, int direction, Commands& commands) {
  if (view.lanes.empty() || !view.lane().timeline) return;
  const Lane& lane = view.lane();
  if (const auto step = next_stall(*lane.simulation, *lane.timeline->steps, lane.step, direction)) commands.push(SeekStep{*step});
}

void choose_range_here(const View& view, int end, Commands& commands) {
  if (view.lanes.empty()) return;
  const double here = view.playback.cycle, last = view.lane().simulation->cycles.value;
  const auto& range = view.workspace->range;
  const TimeRange chosen = end > 0 ? TimeRange{here, range && range->to > here ? range->to : last}
                                   : TimeRange{range && range->from < here ? range->from : 0, here};
  if (chosen.from < chosen.to) commands.push(SetTimeRange{chosen});
}

bool digits_answer(const View& view) {
  return view.lecture->asking || view.lesson.lesson != nullptr;
}

void give_digits(const char* id, std::string& waiting, bool item) {
  ImGuiIO& io = ImGui::GetIO();
  if (item) {
    // A field drops what is typed in the frame that activates it.
    if (waiting.empty() || !ImGui::IsItemActive()) return;
    type_first(waiting);
    waiting.clear();
    return;
  }
  if (!holds_keys()) waiting.clear();  // no field took them: a later one does not want them
  if (io.WantTextInput || ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) return;
  const std::size_t before = waiting.size();
  for (const ImWchar typed : io.InputQueueCharacters)
    if (typed >= '0' && typed <= '9') waiting.push_back(static_cast<char>(typed));
  if (waiting.size() == before) return;
  activate_next_frame(id);
  hold_keys_for(ImGui::GetID(id));
}

float handle_keys(const View& view, std::string_view under_mouse, Commands& commands) {
  if (view.workspace->blank) {
    handle_blank(commands);
    return 1;
  }
  if (view.lesson.lesson != nullptr) handle_lesson(view, commands);
  // Before a page that asks for a number too: its field has the keyboard.
  if (pressed(ImGuiKey_F5)) begin_presenting(view, commands);
  if (pressed(ImGuiKey_F11)) commands.push(SetPresent{!view.workspace->present});
  if (const float factor = text_size_factor(); factor != 1) return factor;
  const bool combined = held(ImGuiMod_Ctrl) || held(ImGuiMod_Alt) || held(ImGuiMod_Super);
  if (ImGui::GetIO().WantTextInput) {
    if (view.lecture->asking && !writes_question()) handle_counting(view, commands);
    if (answer_leaves_letters() && !combined) handle_letters(view, under_mouse, commands);
    return 1;
  }
  // The question has a focus of its own, below the picture. Between two of its fields a letter is no key of the window either.
  if (view.lecture->asking) leave_tab_stops();
  if (view.lecture->asking && writes_question()) {
    if (pressed(ImGuiKey_Escape)) commands.push(AskClass{false});
    return 1;
  }
  // Esc closes a popover before this frame: the key is not for the window then.
  auto& was_open = panel_state<bool>("popover was open");
  const bool open = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  const bool popup = std::exchange(was_open, open) || open;
  if (held(ImGuiMod_Ctrl)) handle_sharing(view, commands);
  const bool bars =
      (view.lesson.lesson == nullptr || tab_stop_has_focus()) && !view.lecture->asking;  // else Tab goes through those
  if (!popup && bars && pressed(ImGuiKey_Tab, true)) move_tab_stop(held(ImGuiMod_Shift) ? -1 : 1);
  // Inside a popover the arrows and Space go through its items, once they are in use.
  if (!ImGui::GetIO().NavVisible) handle_steps(view, commands);
  // Before a class the keys of a clicker work whatever has the focus.
  if (!ImGui::GetIO().NavVisible || view.workspace->present || view.lecture->asking) handle_pages(view, commands);
  // A stop that has the focus takes Enter itself.
  if (!popup && view.lesson.offered && !tab_stop_has_focus() && pressed(ImGuiKey_Enter))
    commands.push(OpenLesson{view.lesson.list->lessons.front().id, 0});
  if (!popup && pressed(ImGuiKey_Escape) && !leave_tab_stops()) handle_escape(view, commands);
  if (pressed(ImGuiKey_F1) || typed('?')) commands.push(ShowHelp{!view.workspace->help});
  // Over an open menu, digits and letters belong to the menu.
  if (popup || combined) return 1;
  if (typed('+') || typed('=')) commands.push(SetSpeed{next_speed(view.playback.speed, 1)});
  if (typed('-')) commands.push(SetSpeed{next_speed(view.playback.speed, -1)});
  for (std::size_t i = 0; i < center_views().size() && !digits_answer(view); ++i)
    if (pressed(static_cast<ImGuiKey>(ImGuiKey_0 + (static_cast<int>(i) + 1) % 10)))
      commands.push(SetCenter{center_views()[i].view});
  handle_letters(view, under_mouse, commands);
  if (typed('.')) commands.push(SetBlank{true});
  if (typed('<') || typed('>')) focus_next_sm(view, typed('<') ? -1 : 1, commands);
  if (typed('[')) choose_range_here(view, 1, commands);
  if (typed(']')) choose_range_here(view, -1, commands);
  return 1;
}

std::span<const KeyHelp> key_help() {
  static constexpr std::array<KeyHelp, 50> rows = {{
      {"", "Steps"},
      {"Space", "Play or pause"},
      {"← →", "Step back or forward by the chosen step size"},
      {"⇧ ← →", "Step by one tile iteration"},
      {"Ctrl ← →", "Step by one launch"},
      {"Home, End", "First or last step"},
      {"+ −", "Faster or slower"},
      {"W, ⇧ W", "Next stall, or the one before"},
      {"< >", "SM in focus: the one before or after"},
      {"↑ ↓", "Row of the softmax above or below"},
      {"", "Timeline"},
      {"L", "Timeline rows: units of one SM, or all SMs"},
      {"J", "Scroll the timeline to the playhead"},
      {"Alt ← → ↑ ↓", "Scroll the timeline, zoom it; Alt Home shows the whole run"},
      {"C", "Causes of this step's stall, back to the first; ↑ ↓ and Enter go there"},
      {"[ ]", "Begin and end a stretch of the timeline here (or Ctrl and drag)"},
      {"", "Views"},
      {"1 … 9 0", "Choose the middle view; in a lesson they only answer"},
      {"R", "Race against standard attention"},
      {"K", "Pin the run on screen, to see others beside it"},
      {"M", "Measure this problem on this machine's GPU"},
      {"← → ↑ ↓ X", "In Banks: wavefront, access, swizzle"},
      {"⇧ ↑ ↓", "In Banks: the lane that is described"},
      {"← → ↑ ↓, ⇧ ↑ ↓", "In Mask, once Tab is on the map: the block that is described; zoom"},
      {"↑ ↓, ⇧ ↑ ↓", "In Ladder: the rung whose code is shown; scroll its code"},
      {"", "Lesson and lecture"},
      {"Tab, ↑ ↓, 1 2 …, Enter", "In a lesson: choose and answer"},
      {"Page Up, Page Down",
       "Scene before or after, or a step: the keys of a clicker; in a lesson: turn the page; presented, all of a lecture"},
      {"Ctrl Page Up, Ctrl Page Down", "In a deck: the scene before or after at once, whatever steps are left"},
      {"F5, ⇧ F5, F11", "Present: F5 from the first scene, the others what is on screen"},
      {"B .", "Black screen; any key brings the picture back"},
      {"L", "While presenting: hold for a pointer (or the middle mouse button)"},
      {"Q", "Question to the class"},
      {"P, ⇧ P", "Presenter's window; its timer from zero (or a click on it, or F5)"},
      {"D", "List of scenes"},
      {"Ctrl D", "Keep this state as a scene"},
      {"", "Window"},
      {"Z", "Maximise the panel under the mouse (or double-click its title)"},
      {"S", "With large text: choose the side panel"},
      {"T", "Dark or light"},
      {"Ctrl + −", "Larger or smaller text; Ctrl 0 for the default"},
      {"Ctrl F", "Find an operation, or a word of the glossary"},
      {"Tab, Enter", "Next button; press it"},
      {"← → ↑ ↓, Enter", "In the table or map that Tab has reached: next row or cell; take it"},
      {"Esc", "Cancel, close, or leave the presentation"},
      {"?", "This list"},
      {"", "Links and undo"},
      {"Ctrl C, Ctrl V", "Copy the link to this state, open a copied link"},
      {"Ctrl ⇧ C", "Copy the panel under the mouse, or the tooltip, as text"},
      {"Ctrl Z, Ctrl Y", "Undo, redo"},
  }};
  return rows;
}

}  // namespace tilescope
