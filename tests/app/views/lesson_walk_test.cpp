// A lesson by keyboard alone, in the window without a display: every kind of question, from the first page to the last.
#include <doctest/doctest.h>

#include "app/model/lesson.h"
#include "app/model/lesson_list.h"
#include "app/model/lesson_runs.h"
#include "tests/app/model/lesson_fixture.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

Session::Start start_with(const std::string& path) {
  Session::Start start = opening_start();
  auto list = std::make_shared<LessonList>();
  LessonInfo info;
  info.id = "00-small";
  info.languages.emplace("en", LessonInfo::Text{path, "Small", 1});
  list->lessons.push_back(info);
  start.lessons = list;
  start.offer_lessons = true;
  return start;
}

}  // namespace

TEST_CASE("lesson: a whole lesson is walked through by keyboard alone") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  const auto lesson = [&] { return script->view().lesson; };
  script->press(ImGuiKey_Enter);  // the offer of the first start
  REQUIRE(lesson().lesson != nullptr);
  CHECK(lesson().page == 0);

  // Choice: the second option, then "Answer".
  script->press(ImGuiKey_PageDown);
  CHECK(lesson().page == 0);
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Enter);
  CHECK(lesson().answer == nullptr);
  script->press(ImGuiKey_Enter);
  REQUIRE(lesson().answer != nullptr);
  CHECK(lesson().answer->option == 1);
  CHECK(script->view().lane().step == script->view().lane().step_count);
  script->press(ImGuiKey_LeftArrow);  // the playhead is free
  CHECK(script->view().lane().step == script->view().lane().step_count - 1);
  script->press(ImGuiKey_Enter);  // "Next" has the keyboard

  // Number: the field has it.
  CHECK(lesson().page == 1);
  script->type("16");
  script->press(ImGuiKey_Enter);
  REQUIRE(lesson().answer != nullptr);
  CHECK(lesson().answer->number == 16);
  script->press(ImGuiKey_PageDown);

  // Point: by Tab.
  CHECK(lesson().page == 2);
  script->press(ImGuiKey_Tab);
  script->press(ImGuiKey_Enter);
  script->press(ImGuiKey_Enter);
  REQUIRE(lesson().answer != nullptr);
  CHECK(lesson().answer->option == 1);
  script->press(ImGuiKey_PageDown);

  // Order: take the first row, move it down, let go, answer.
  CHECK(lesson().page == 3);
  script->press(ImGuiKey_Enter);
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Enter);
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Enter);
  REQUIRE(lesson().answer != nullptr);
  CHECK(lesson().answer->order == std::vector<int>{1, 0});
  CHECK(is_right(*lesson().lesson->pages[3].ask, *lesson().answer, *lesson().figures));
  script->press(ImGuiKey_PageDown);

  // Draw: the second point up, the third down.
  CHECK(lesson().page == 4);
  script->press(ImGuiKey_RightArrow);
  for (int i = 0; i < 3; ++i) script->press(ImGuiKey_UpArrow);
  script->press(ImGuiKey_RightArrow);
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Enter);
  script->press(ImGuiKey_Enter);
  REQUIRE(lesson().answer != nullptr);
  REQUIRE(lesson().answer->drawn.size() == 3);
  CHECK(lesson().answer->drawn[1] > lesson().answer->drawn[0]);
  CHECK(lesson().answer->drawn[2] < lesson().answer->drawn[0]);

  script->press(ImGuiKey_PageUp);
  CHECK(lesson().page == 3);
  script->press(ImGuiKey_PageDown);
  CHECK(lesson().page == 4);
  script->press(ImGuiKey_Enter);  // "Finish"
  CHECK(lesson().lesson == nullptr);
  CHECK(lesson().done->contains("00-small"));
}

TEST_CASE("lesson: before a class, a clicker shows the answers and turns the pages") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  script->command(SetPresent{true});
  for (std::size_t page = 0; page < 5; ++page) {
    CHECK(script->view().lesson.page == page);
    script->press(ImGuiKey_PageDown);
    CHECK(script->view().lesson.answer != nullptr);
    script->press(ImGuiKey_PageDown);
  }
  CHECK(script->view().lesson.page == 4);
  script->press(ImGuiKey_PageUp);
  CHECK(script->view().lesson.page == 3);
}

TEST_CASE("lesson: Esc declines the offer, and it does not come back") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  CHECK(script->view().lesson.offered);
  script->press(ImGuiKey_Escape);
  CHECK_FALSE(script->view().lesson.offered);
}

TEST_CASE("lesson: a click on a tensor of the stage points at it") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1600, 900);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  for (int page = 0; page < 2; ++page) {
    LessonAnswer none;
    none.given = false;
    script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
    script->command(TurnLessonPage{1});
  }
  REQUIRE(script->view().lesson.page == 2);
  // Somewhere on the stage the output is hovered; a click there chooses it.
  const Rect stage = script->frame().layout().stage;
  bool found = false;
  for (float y = stage.min.y + 20; y < stage.max.y && !found; y += 16)
    for (float x = stage.min.x + 20; x < stage.max.x && !found; x += 24) {
      script->hover(x, y);
      const auto hovered = script->view().workspace->hovered_tensor;
      if (!hovered || to_string(*hovered) != "O") continue;
      found = true;
      script->click(x, y);
    }
  REQUIRE(found);
  // "Answer" is the fourth item: two options, then it.
  script->press(ImGuiKey_Tab);
  script->press(ImGuiKey_Tab);
  script->press(ImGuiKey_Enter);
  REQUIRE(script->view().lesson.answer != nullptr);
  CHECK(script->view().lesson.answer->option == 1);
}
