// GPU, problem and tile by keyboard alone: Tab to the button, Enter, into the field, type.
#include <string>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/ui/tab_stops.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

bool popover_is_open() {
  return ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
}

/// Goes from stop to stop and opens each that opens a popover, until `is_it` says that it is the one.
template <class Is>
bool open_by_tab(WindowScript& script, Is is_it) {
  constexpr int most_stops = 40;
  for (int i = 0; i < most_stops; ++i) {
    script.press(ImGuiKey_Tab);
    const std::string before = to_link(window_state_of(script.view()));
    script.press(ImGuiKey_Enter);
    if (popover_is_open() && is_it()) return true;
    if (popover_is_open()) script.press(ImGuiKey_Escape);
    if (to_link(window_state_of(script.view())) != before) script.command(Undo{});
  }
  return false;
}

bool popover_has(const char* id) {
  const ImGuiWindow* window = ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
  return window != nullptr &&
         ImGui::GetCurrentContext()->OpenPopupStack.back().PopupId == ImHashStr(id, 0, ImGui::FindWindowByName("##tilescope")->ID);
}

}  // namespace

TEST_CASE("keyboard: the popovers of GPU, problem and tile open by Tab and Enter, and their fields take what is typed") {
  for (const char* id : {"gpu", "problem", "tile"}) {
    CAPTURE(id);
    const auto script = WindowScript::open(opening_start(), 1600, 900);
    if (script == nullptr) return;
    REQUIRE(open_by_tab(*script, [&] { return popover_has(id); }));
    const std::string before = to_link(window_state_of(script->view()));
    // Through the items with Tab; Enter on a field types into it, and on a button presses it.
    bool changed = false;
    for (int i = 0; i < 24 && !changed; ++i) {
      script->press(ImGuiKey_Tab);
      CHECK(ImGui::GetIO().NavVisible);  // the ring is seen
      script->press(ImGuiKey_Enter);
      if (ImGui::GetIO().WantTextInput) {
        script->type("32");
        script->press(ImGuiKey_Enter);
      }
      changed = to_link(window_state_of(script->view())) != before;
    }
    CHECK(changed);
  }
}

TEST_CASE("keyboard: arrows choose the row, < and > the SM") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->command(SelectRow{3});
  script->press(ImGuiKey_DownArrow);
  CHECK(script->view().workspace->row == 4);
  script->press(ImGuiKey_UpArrow);
  script->press(ImGuiKey_UpArrow);
  CHECK(script->view().workspace->row == 2);
  CHECK(script->view().lane().focus_sm == 0);
  script->type(">");
  CHECK(script->view().lane().focus_sm == 1);
  script->type("<");
  script->type("<");
  CHECK(script->view().lane().focus_sm == 3);
}

TEST_CASE("keyboard: R in another view begins the race on the stage, where both runs are seen") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::mask});
  script->press(ImGuiKey_R);
  CHECK(script->view().playback.race);
  CHECK(script->view().workspace->center == CenterView::stage);
  script->command(SetCenter{CenterView::mask});
  script->press(ImGuiKey_R);
  CHECK_FALSE(script->view().playback.race);
  CHECK(script->view().workspace->center == CenterView::mask);
}

TEST_CASE("keyboard: in a lesson Tab goes through the page, then through the window, and back") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  const auto script = WindowScript::open(std::move(start), 1600, 900);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  constexpr int most = 80;
  int in_page = 0, in_window = 0;
  while (!tab_stop_has_focus() && in_page++ < most) script->press(ImGuiKey_Tab);
  CHECK(in_page == 6);  // two options, Answer, Show, Back, Next, and the one that goes beyond
  // Enter presses a button of the window now, and not the page's: it asks for an algorithm, and the question waits.
  script->press(ImGuiKey_Enter);
  REQUIRE(script->view().workspace->message);
  CHECK(script->view().workspace->message->notice == Notice::lesson_waits);
  CHECK(script->view().lesson.answer == nullptr);
  while (tab_stop_has_focus() && in_window++ < most) script->press(ImGuiKey_Tab);
  CHECK(in_window > 10);
  CHECK(in_window < most);
  // Back in the page, at its first option; then "Answer".
  script->press(ImGuiKey_Enter);
  script->press(ImGuiKey_Enter);
  REQUIRE(script->view().lesson.answer != nullptr);
  CHECK(script->view().lesson.answer->given);
}

TEST_CASE("keyboard: a control that a task leaves free has its field below the task, or is a link to it, and takes what is typed") {
  const TemporaryFolder folder;
  for (const std::string key : {"seq", "hbm.bytes_per_second", "head_dim"}) {
    CAPTURE(key);
    std::string text = small_lesson;
    const auto replace = [&](std::string_view from, std::string_view to) {
      REQUIRE(text.find(from) != std::string::npos);
      text.replace(text.find(from), from.size(), to);
    };
    replace("free = [\"seq\"]", "free = [\"" + key + "\"]");
    Session::Start start = opening_start();
    start.lessons = list_of_small_lesson(folder.file(key + ".en.md", text));
    const auto script = WindowScript::open(std::move(start), 1600, 900);
    if (script == nullptr) return;
    script->command(OpenLesson{"00-small"});
    const std::size_t last = script->view().lesson.lesson->pages.size() - 1;
    script->command(OpenLesson{"00-small", last});
    auto nothing = std::make_shared<LessonAnswer>();
    nothing->given = false;  // "Show"
    script->command(AnswerLesson{nothing});
    REQUIRE_FALSE(script->view().lesson.locked);
    // Next has the keyboard; before it are Back, and the link, or ×2 and the field.
    const bool is_link = key == "head_dim", of_gpu = key == "hbm.bytes_per_second";
    for (int i = 0; i < (is_link ? 2 : 3); ++i) script->press(ImGuiKey_Tab, ImGuiMod_Shift);
    script->press(ImGuiKey_Enter);
    REQUIRE(popover_is_open() == is_link);
    if (is_link) CHECK(popover_has("problem"));
    REQUIRE(ImGui::GetIO().WantTextInput);
    script->type(of_gpu ? "5000000000" : "48");
    script->press(ImGuiKey_Enter);
    script->settle();
    const SimulationRequest& asked = script->view().requested->request;
    CHECK((of_gpu ? asked.gpu.hbm_bytes_per_second == 5e9 : (is_link ? asked.problem.head_dim : asked.problem.seq_q) == 48));
  }
}
