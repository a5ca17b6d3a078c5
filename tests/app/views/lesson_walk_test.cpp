// A lesson by keyboard alone, in the window without a display: every kind of question, from the first page to the last.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/state/center_views.h"
#include "app/ui/text_record.h"
#include "app/views/chrome.h"
#include "app/views/lesson/lesson_clicker.h"
#include "app/views/lesson/question.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

Session::Start start_with(const std::string& path) {
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(path);
  start.offer_lessons = true;
  return start;
}

/// What the window writes now.
std::string window_text(WindowScript& script) {
  const TextRecording recording;
  script.hover(5, 5);
  return recording.text();
}

}  // namespace

TEST_CASE("lesson: a whole lesson is walked through by keyboard alone") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  const auto lesson = [&] { return script->view().lesson; };
  const std::string before = to_link(window_state_of(script->view()));
  script->press(ImGuiKey_Enter);  // the offer of the first start
  REQUIRE(lesson().lesson != nullptr);
  CHECK(lesson().page == 0);
  CHECK(to_link(window_state_of(script->view())) != before);

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
  script->press(ImGuiKey_LeftArrow);
  CHECK(script->view().lane().step < script->view().lane().step_count);
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

  // Draw: the second point up, the third down. An answer before that says what lacks, and leaves the keyboard with the points.
  CHECK(lesson().page == 4);
  constexpr std::string_view lacks = "Move a point first";
  CHECK(window_text(*script).find(lacks) == std::string::npos);
  for (const bool from_button : {false, true}) {
    if (from_button) script->press(ImGuiKey_Tab);
    script->press(ImGuiKey_Enter);
    CHECK(lesson().answer == nullptr);
    CHECK(window_text(*script).find(lacks) != std::string::npos);
  }
  script->press(ImGuiKey_RightArrow);
  for (int i = 0; i < 3; ++i) script->press(ImGuiKey_UpArrow);
  CHECK(window_text(*script).find(lacks) == std::string::npos);
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
  // "Finish" shows the end: four answers were right, and the drawn curve was not; the task was not done.
  script->press(ImGuiKey_Enter);
  const std::string shown = window_text(*script);
  CAPTURE(shown);
  REQUIRE(lesson().lesson != nullptr);
  CHECK(lesson().right == 4);
  CHECK(shown.find("Right answers: 4 of 5") != std::string::npos);
  CHECK(shown.find("Goals reached: 0 of 1") != std::string::npos);
  CHECK(shown.find("not reached") != std::string::npos);
  CHECK(shown.find("larger than …") == std::string::npos);  // a figure of a page that is not open
  script->press(ImGuiKey_Tab, ImGuiMod_Shift);              // from Close to Back
  script->press(ImGuiKey_Enter);
  CHECK(window_text(*script).find("The end of the lesson") == std::string::npos);
  script->press(ImGuiKey_Enter);  // "Finish" again,
  script->press(ImGuiKey_Enter);  // and "Close": what was open before is back
  CHECK(lesson().lesson == nullptr);
  CHECK(to_link(window_state_of(script->view())) == before);
  CHECK(lesson().done->contains("00-small"));
}

TEST_CASE("lesson: Space on an option chooses it as Enter does, and turns no page once it is answered") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small", 0});
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Space);
  CHECK(window_text(*script).find("Answer the question first") == std::string::npos);
  CHECK(script->view().lesson.answer == nullptr);
  script->press(ImGuiKey_Space);  // "Answer"
  REQUIRE(script->view().lesson.answer != nullptr);
  CHECK(script->view().lesson.answer->option == 1);
  script->press(ImGuiKey_Space);
  CHECK(script->view().lesson.page == 0);  // "Next" has the keyboard, and Space is not Enter any more
}

TEST_CASE("lesson: a wrong answer has its reason below it, and a right one has none") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  for (const char* number : {"16", "4", "5"}) {
    CAPTURE(number);
    script->command(OpenLesson{"00-small", 1});
    script->type(number);
    script->press(ImGuiKey_Enter);
    REQUIRE(script->view().lesson.answer != nullptr);
    const std::string shown = window_text(*script);
    CAPTURE(shown);
    CHECK((shown.find("Why not: That is the length") != std::string::npos) == (number[0] == '4'));
    CHECK((shown.find("Why not: Count the rows") != std::string::npos) == (number[0] == '5'));
    CHECK(script->view().lesson.right == (number[1] == '6' ? 1 : 0));
  }
}

TEST_CASE("lesson: its end lists the questions without a right answer, and a button goes to each") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  const std::size_t pages = script->view().lesson.lesson->pages.size();
  LessonAnswer wrong, right, none;
  right.number = 16;
  none.given = false;
  for (std::size_t page = 0; page < pages; ++page) {
    script->command(AnswerLesson{std::make_shared<const LessonAnswer>(page == 0 ? wrong : page == 1 ? right : none)});
    if (page + 1 < pages) script->command(TurnLessonPage{1});
  }
  const auto& missed = script->view().lesson.missed;
  REQUIRE(missed.size() == pages - 1);  // all but the second
  CHECK(missed[0].page == 0);
  CHECK(missed[0].answered);
  CHECK(missed[1].page == 2);
  CHECK_FALSE(missed[1].answered);
  script->press(ImGuiKey_Enter);  // "Finish"
  const std::string shown = window_text(*script);
  CAPTURE(shown);
  CHECK(shown.find("Look at these pages again") != std::string::npos);
  CHECK(shown.find("not right") != std::string::npos);
  CHECK(shown.find("not answered") != std::string::npos);
  // The keyboard is at the last button; down from there is the first: page 1.
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Enter);
  CHECK(script->view().lesson.page == 0);
  CHECK(script->view().lesson.answer != nullptr);  // still there
  CHECK(script->view().lesson.right == 1);
}

TEST_CASE("lesson: before a class, a clicker shows the answers, turns the pages and comes to the end, and the window says so") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  CHECK(window_text(*script).find("Page Down: ") == std::string::npos);
  script->command(SetPresent{true});
  const auto click = [&](const char* told) {
    CAPTURE(told);
    for (int more = 0; more < 10 && window_text(*script).find("Page Down: more of this page") != std::string::npos; ++more)
      script->press(ImGuiKey_PageDown);
    CHECK(window_text(*script).find(told) != std::string::npos);
    script->press(ImGuiKey_PageDown);
  };
  for (std::size_t page = 0; page < 5; ++page) {
    CHECK(script->view().lesson.page == page);
    click("Page Down: the answer");
    CHECK(script->view().lesson.answer != nullptr);
    click(page < 4 ? "Page Down: the next page" : "Page Down: the end of the lesson");
  }
  CHECK(script->view().lesson.page == 4);
  const auto at_end = [&] { return window_text(*script).find("The end of the lesson") != std::string::npos; };
  CHECK(at_end());
  click("This is the last lesson.");
  CHECK(at_end());
  for (int press = 0; press < 10 && at_end(); ++press) script->press(ImGuiKey_PageUp);
  CHECK(script->view().lesson.page == 4);
  for (int press = 0; press < 10 && script->view().lesson.page == 4; ++press) script->press(ImGuiKey_PageUp);
  CHECK(script->view().lesson.page == 3);
}

TEST_CASE(
    "lesson: the class is asked the question of the page, its answer is marked with the page's, and a page has its own counts") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  script->command(SetPresent{true});
  script->press(ImGuiKey_Q);
  REQUIRE(script->view().lecture->asking);
  CHECK(class_question(script->view()).text == "Which moves more?");
  CHECK(class_question(script->view()).choices == std::vector<std::string>{"flash2", "standard"});
  CHECK(class_question(script->view()).answer == 2);
  CHECK(window_text(*script).find("standard  ✓") == std::string::npos);
  script->command(CountAnswer{1, 12});
  for (int press = 0; press < 10 && script->view().lesson.locked; ++press) script->press(ImGuiKey_PageDown);
  CHECK(script->view().lecture->counts[1] == 12);  // the counts stand beside the answer
  CHECK(window_text(*script).find("standard  ✓") != std::string::npos);
  for (int press = 0; press < 10 && script->view().lesson.page == 0; ++press) script->press(ImGuiKey_PageDown);
  CHECK_FALSE(script->view().lecture->asking);
  CHECK(script->view().lecture->counts[1] == 0);
  CHECK(class_question(script->view()).text == "How many keys?");
  CHECK(class_question(script->view()).choices == std::vector<std::string>{"4", "16", "256", "Another number"});
  CHECK(class_question(script->view()).answer == 2);
  REQUIRE(script->frame().typing());  // the empty field of a number takes no key of the lecture
  for (const ImGuiKey key : {ImGuiKey_B, ImGuiKey_Q}) {
    script->frame().io().AddInputCharacter(key == ImGuiKey_B ? 'b' : 'q');
    script->press(key);
    CHECK((key == ImGuiKey_B ? script->view().workspace->blank : script->view().lecture->asking));
    CHECK(window_text(*script).find("Type a number") == std::string::npos);
    script->press(key);
  }
  script->type("1");
  script->press(ImGuiKey_Q);  // its letter arrives after the key
  CHECK(script->view().lecture->asking);
  script->type("q");
  CHECK(window_text(*script).find("Type a number") == std::string::npos);
  script->type("q7");  // nor is a letter a number of hands
  CHECK(script->view().lecture->counts[0] == 7);
  script->command(AskClass{false});
  script->command(OpenLesson{"00-small", 2});
  CHECK(class_question(script->view()).choices == std::vector<std::string>{"K", "O"});
  CHECK(class_question(script->view()).answer == 2);
  script->command(OpenLesson{"00-small", 3});
  CHECK(class_question(script->view()).text == "Order by bytes. Which is first?");
  CHECK(class_question(script->view()).answer == 2);
  script->command(OpenLesson{"00-small", 4});
  CHECK(class_question(script->view()).choices.front() == "More than 4×");  // N grows from 8 to 32, the exponentials by 16
  CHECK(class_question(script->view()).answer == 1);
  script->press(ImGuiKey_2);  // a digit chooses no view while a question waits
  CHECK(script->view().workspace->center == CenterView::stage);
  script->command(CloseLesson{});
  CHECK(class_question(script->view()).text.empty());
}

TEST_CASE("lesson: presented, a task's number is doubled, or typed, in its field below the text") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 900);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small", 4});
  script->command(SetPresent{true});
  LessonAnswer none;
  none.given = false;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  const auto queries = [&] { return script->view().requested->request.problem.seq_q; };
  REQUIRE(queries() == 16);
  CHECK(window_text(*script).find("F11") == std::string::npos);
  // The keyboard is at "Finish": before it are Back, ×2, the field and ÷2.
  for (int i = 0; i < 2; ++i) script->press(ImGuiKey_UpArrow);
  script->press(ImGuiKey_Enter);
  CHECK(queries() == 32);
  CHECK(script->view().lesson.reached != nullptr);
  script->press(ImGuiKey_UpArrow);
  script->press(ImGuiKey_Enter);
  script->type("64");
  script->press(ImGuiKey_Enter);
  CHECK(queries() == 64);
  CHECK(script->view().requested->request.problem.seq_kv == 64);  // the keys follow
}

TEST_CASE("lesson: presented, a long answer is scrolled into sight") {
  const TemporaryFolder folder;
  std::string text = small_lesson;
  const std::string_view say = "say = \"It ends at step {= step : number}.\"";
  std::string longer = "say = \"";
  for (int i = 0; i < 9; ++i) longer += "One more sentence for the class to read. ";
  text.replace(text.find(say), say.size(), longer + "The end.\"");
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", text)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  script->command(SetPresent{true});
  REQUIRE(window_text(*script).find("Page Down: the answer") != std::string::npos);
  script->press(ImGuiKey_PageDown);
  CHECK(window_text(*script).find("Page Down: the next page") != std::string::npos);
}

namespace {

/// The small lesson with a third option on its first page, which is neither chosen nor right, and with many words after the answer.
std::string lesson_with_long_words(std::string_view question) {
  std::string text = small_lesson;
  const auto replace = [&](std::string_view what, const std::string& with) { text.replace(text.find(what), what.size(), with); };
  std::string longer = "say = \"";
  for (int i = 0; i < 60; ++i) longer += "One more sentence for the class to read. ";
  replace("say = \"It ends at step {= step : number}.\"", longer + "The end.\"");
  replace("Which moves more?", std::string(question));
  replace("\"flash2\", \"standard\"", "\"flash2\", \"standard\", \"neither\"");
  replace("standard.sm_to_l2\"]", "standard.sm_to_l2\", \"0\"]");
  return text;
}

/// Opens it, and answers its first page wrongly.
std::unique_ptr<WindowScript> open_answered(const std::string& path, bool present, float scale = 1) {
  auto script = WindowScript::open(start_with(path), 1280, 720, scale);
  if (script == nullptr) return nullptr;
  script->command(OpenLesson{"00-small"});
  script->command(SetPresent{present});
  LessonAnswer wrong;
  wrong.option = 0;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(wrong)});
  return script;
}

const ImGuiWindow* page_of(WindowScript& script) {
  script.frame().select();
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->Active && std::string_view(window->Name).find("/page_") != std::string_view::npos) return window;
  return nullptr;
}

/// The text at this height of the page; empty where there is none.
std::string text_at(WindowScript& script, const ImGuiWindow& page, float y) {
  std::string text;
  for (float x = page.Pos.x + 14; x < page.Pos.x + page.Size.x; x += 24) {
    script.hover(x, y);
    if (const auto found = text_under_mouse()) text += found->text + "\n";
  }
  return text;
}

std::string pinned_text(WindowScript& script, const ImGuiWindow& page) {
  std::string text;
  for (float y = page.Pos.y + 4; y < page.Pos.y + lesson_place().pinned; y += 8) text += text_at(script, page, y);
  return text;
}

}  // namespace

TEST_CASE("lesson: after a wrong answer whose words are long, the question, the own answer and the right one stay in sight") {
  const TemporaryFolder folder;
  const std::string path = folder.file("00-small.en.md", lesson_with_long_words("Which moves more?"));
  for (const bool present : {true, false}) {
    CAPTURE(present);
    const auto script = open_answered(path, present);
    if (script == nullptr) return;
    const ImGuiWindow* page = page_of(*script);
    REQUIRE(page != nullptr);
    REQUIRE(page->ScrollMax.y > 0);
    if (present) script->press(ImGuiKey_PageDown);  // to the end of the words
    CHECK(lesson_place().pinned > 60);
    const std::string pinned = pinned_text(*script, *page);
    CAPTURE(pinned);
    CHECK(pinned.find("moves") != std::string::npos);  // of the question
    CHECK(pinned.find("flash2") != std::string::npos);
    CHECK(pinned.find("standard") != std::string::npos);
    CHECK(pinned.find("neither") == std::string::npos);
  }
}

TEST_CASE("lesson: what is pinned cuts no option, and none is lost before the words after them come up to it") {
  const TemporaryFolder folder;
  const std::string path = folder.file("00-small.en.md", lesson_with_long_words("Which moves more?"));
  for (const bool present : {true, false}) {
    CAPTURE(present);
    const auto script = open_answered(path, present);
    if (script == nullptr) return;
    const ImGuiWindow* page = page_of(*script);
    REQUIRE(page != nullptr);
    int pinned_before_words = 0;
    const float most = lesson_place().scroll;  // where the words have come up
    for (float scroll = std::max(0.0F, most - 200); scroll <= most; scroll += 17) {
      lesson_place().wanted = scroll;
      script->settle();
      CAPTURE(scroll);
      if (lesson_place().pinned == 0) continue;
      const std::string below = text_at(*script, *page, page->Pos.y + lesson_place().pinned + 2);
      CAPTURE(below);
      for (const char* option : {"flash2", "standard", "neither"}) CHECK(below.find(option) == std::string::npos);
      if (pinned_before_words == 0 && pinned_text(*script, *page).find("neither") != std::string::npos) ++pinned_before_words;
    }
    CHECK(pinned_before_words > 0);
  }
}

TEST_CASE(
    "lesson: at a larger text size a question as long as the longest of the lessons stays in sight with what came of its answer") {
  const TemporaryFolder folder;
  const std::string path = folder.file(
      "00-small.en.md",
      lesson_with_long_words("Of the two programs that the text names, which moves more bytes between the L2 and the SMs, "
                             "when both directions are added?"));
  for (const bool present : {true, false}) {
    CAPTURE(present);
    const auto script = open_answered(path, present, 1.4F);
    if (script == nullptr) return;
    const ImGuiWindow* page = page_of(*script);
    REQUIRE(page != nullptr);
    if (present) script->press(ImGuiKey_PageDown);
    REQUIRE(lesson_place().pinned > 0);
    CHECK(lesson_place().pinned < 0.6F * page->Size.y);  // the words after the answer have room
    const std::string pinned = pinned_text(*script, *page);
    CAPTURE(pinned);
    for (const char* word : {"programs", "between", "directions", "standard"}) CHECK(pinned.find(word) != std::string::npos);
  }
}

TEST_CASE("lesson: the offer of the first start covers nothing of a view that has the whole window") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::fit});
  const ImGuiWindow* offer = ImGui::FindWindowByName("##offer");
  REQUIRE(offer != nullptr);
  CHECK(offer->Active);
  CHECK(offer->Pos.y >= script->frame().layout().transport.max.y);
  CHECK(offer->Pos.y + offer->Size.y <= 720);
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

TEST_CASE("lesson: presented, what a page looks at survives larger text, and no other panel is shown") {
  for (const float scale : {1.0F, 1.331F}) {
    Session::Start start = opening_start();
    start.lessons = std::make_shared<const LessonList>(load_lesson_list());
    const auto script = WindowScript::open(std::move(start), 1280, 720, scale);
    if (script == nullptr) return;
    CAPTURE(scale);
    script->command(OpenLesson{"06-flashattention-tile-by-tile", 2});
    REQUIRE(script->view().lesson.scene->look == std::vector<std::string>{"stage", "softmax"});
    const float before = script->frame().theme().reading->FontSize;
    script->command(SetPresent{true});
    CHECK(script->frame().theme().reading->FontSize > 1.2F * before);
    const auto shown = [](std::string_view panel) {
      for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
        if (window->Active && std::string_view(window->Name).find("/" + std::string(panel) + "_") != std::string_view::npos)
          return true;
      return false;
    };
    for (const char* panel : {"lesson", "stage", "softmax"}) CHECK(shown(panel));
    for (const char* panel : {"listing", "traffic", "timeline"}) CHECK_FALSE(shown(panel));
  }
}

TEST_CASE("lesson: a digit goes to the field of the question, not to another view") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small", 1});
  const Rect stage = script->frame().layout().transport;
  script->click(stage.max.x - 4, stage.max.y - 4);  // the field loses the keyboard
  REQUIRE_FALSE(script->frame().typing());
  script->frame().io().AddInputCharacter('1');
  script->press(ImGuiKey_1);
  script->frame().io().AddInputCharacter('6');
  script->press(ImGuiKey_6);
  CHECK(script->view().workspace->center == CenterView::stage);
  script->press(ImGuiKey_Enter);
  REQUIRE(script->view().lesson.answer != nullptr);
  CHECK(script->view().lesson.answer->number == 16);

  script->command(OpenLesson{"00-small", 1});
  REQUIRE(script->frame().typing());
  script->press(ImGuiKey_F5);  // the start key of a clicker is no text
  CHECK(script->view().workspace->present);
}

TEST_CASE("lesson: a curve that a page looks at has the middle of the window, and is drawn there by mouse") {
  std::string text = small_lesson;
  const std::string head = "## Draw and try\n";
  text.insert(text.find(head) + head.size(),
              "\n```scene\nlink = \"seq=16&head_dim=4&block_q=4&block_kv=4\"\nlook = [\"curve\"]\n```\n");
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", text)), 1280, 720);
  if (script == nullptr) return;
  const auto shown = [](std::string_view panel) -> const ImGuiWindow* {
    for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
      if (window->Active && std::string_view(window->Name).find("/" + std::string(panel) + "_") != std::string_view::npos)
        return window;
    return nullptr;
  };
  script->command(OpenLesson{"00-small", 4});
  const ImGuiWindow* const curve = shown("curve");
  REQUIRE(curve != nullptr);
  CHECK(shown("stage") == nullptr);
  CHECK(curve->Size.x > 600);
  CHECK(curve->Size.y > 400);
  const ImVec2 right = {curve->Pos.x + curve->Size.x - 40, curve->Pos.y + 0.8F * curve->Size.y};
  script->drag(right, {right.x, curve->Pos.y + 0.2F * curve->Size.y});
  script->press(ImGuiKey_Enter);
  script->press(ImGuiKey_Enter);
  REQUIRE(script->view().lesson.answer != nullptr);
  CHECK(script->view().lesson.answer->drawn[2] > script->view().lesson.answer->drawn[0]);
  CHECK(shown("curve") != nullptr);  // with the simulated one
  script->command(SetCenter{CenterView::roofline});
  CHECK(shown("curve") == nullptr);  // another view of the middle
}

TEST_CASE("lesson: once a page is answered a digit too many leaves its picture alone") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small", 2});
  script->press(ImGuiKey_2);
  script->press(ImGuiKey_Enter);
  REQUIRE(script->view().lesson.answer != nullptr);
  script->press(ImGuiKey_3);
  CHECK(script->view().workspace->center == CenterView::stage);
  script->command(CloseLesson{});
  script->press(ImGuiKey_3);
  CHECK(script->view().workspace->center == center_views()[2].view);
}

TEST_CASE("lesson: the empty field of an answer leaves letters to the window, and takes them behind a number") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small", 1});
  REQUIRE(script->frame().typing());
  const ThemeKind before = script->view().theme->kind;
  const auto press_t = [&] {
    script->frame().io().AddInputCharacter('t');
    script->press(ImGuiKey_T);
  };
  press_t();
  CHECK(script->view().theme->kind != before);
  press_t();
  CHECK(script->view().theme->kind == before);
  script->press(ImGuiKey_P);
  CHECK(script->view().lecture->presenter);
  script->type("16");
  press_t();
  CHECK(script->view().theme->kind == before);
  CHECK(question_draft().typed == "16t");
  const float scale = script->frame().scale();
  script->press(ImGuiKey_Equal, ImGuiMod_Ctrl);  // the size of the text too, whatever is typed
  CHECK(script->frame().take_text_scale_change() > 1);
  CHECK(script->frame().scale() == scale);  // the window's owner sets it
}

TEST_CASE("lesson: a digit chooses an option, and Enter answers with it") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small", 2});
  script->press(ImGuiKey_2);
  CHECK(script->view().workspace->center == CenterView::stage);
  script->press(ImGuiKey_Enter);
  REQUIRE(script->view().lesson.answer != nullptr);
  CHECK(script->view().lesson.answer->option == 1);
}

TEST_CASE("lesson: only a page that asks to point takes a click on a tensor as an answer") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(start_with(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  const auto tensor = [&](std::string_view name) {
    for (const Tensor each : script->view().lane().simulation->program->tensors())
      if (to_string(each) == name) return each;
    return Tensor{};
  };
  script->command(OpenLesson{"00-small", 1});
  CHECK(option_pointed_at(script->view().lesson, tensor("O")) == -1);
  script->command(OpenLesson{"00-small", 2});
  CHECK(option_pointed_at(script->view().lesson, tensor("K")) == 0);
  CHECK(option_pointed_at(script->view().lesson, tensor("O")) == 1);
  CHECK(option_pointed_at(script->view().lesson, tensor("Q")) == -1);
}

TEST_CASE("lecture: a page of a lesson has its scene's name and number, and as the last scene it ends the deck") {
  const TemporaryFolder folder;
  Session::Start start = start_with(folder.file("00-small.en.md", small_lesson));
  Deck deck;
  deck.scenes.resize(1);
  deck.scenes[0].title = "My own page";
  deck.scenes[0].lesson = ScenePage{"00-small", 0};
  deck.scenes[0].state = *from_link("seq=64");
  start.deck = std::make_shared<const Deck>(deck);
  start.state = std::make_shared<const WindowState>(deck.scenes[0].state);
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  REQUIRE(script->view().lesson.lesson != nullptr);
  const std::string text = window_text(*script);
  CAPTURE(text);
  CHECK(text.find("My own page") != std::string::npos);
  // Beside Back and Next, too, scenes are what is counted.
  const std::size_t first = text.find("Scene 1/1");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("Scene 1/1", first + 1) != std::string::npos);
  CHECK(text.find("Page 1/") == std::string::npos);
  for (int press = 0; press < 10; ++press) script->press(ImGuiKey_PageDown);
  REQUIRE(script->view().lesson.lesson != nullptr);
  CHECK(script->view().lesson.page == 0);
  CHECK(script->view().lesson.answer != nullptr);
  CHECK(window_text(*script).find("This is the last scene.") != std::string::npos);
}

TEST_CASE("lecture: while nobody presents, Page Down, Page Up and Back of a page that is a scene turn the scenes of the deck") {
  const TemporaryFolder folder;
  Session::Start start = start_with(folder.file("00-small.en.md", small_lesson));
  Deck deck;
  deck.scenes.resize(3);
  deck.scenes[0].state = *from_link("seq=64");
  deck.scenes[1].lesson = ScenePage{"00-small", 3};
  deck.scenes[2].lesson = ScenePage{"00-small", 1};
  start.deck = std::make_shared<const Deck>(deck);
  const auto script = WindowScript::open(std::move(start), 1600, 900);
  if (script == nullptr) return;
  const auto scene = [&] { return script->view().lecture->scene(); };
  const auto page = [&] { return script->view().lesson.page; };
  script->command(GoToScene{0});
  CHECK(script->view().lesson.lesson == nullptr);
  script->press(ImGuiKey_PageDown);
  CHECK(scene() == 1);
  REQUIRE(script->view().lesson.lesson != nullptr);
  CHECK(page() == 3);
  script->press(ImGuiKey_PageDown);
  CHECK(scene() == 2);
  CHECK(page() == 1);
  script->press(ImGuiKey_PageDown);  // there is none after it
  CHECK(scene() == 2);
  script->press(ImGuiKey_PageUp);
  CHECK(scene() == 1);
  CHECK(page() == 3);
  script->press(ImGuiKey_PageUp);
  CHECK(scene() == 0);
  CHECK(script->view().lesson.lesson == nullptr);
  // The button below the page.
  for (const int from : {2, 1}) {
    script->command(GoToScene{from});
    LessonAnswer none;
    none.given = false;
    script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});  // the keyboard is at Next
    script->press(ImGuiKey_Tab, ImGuiMod_Shift);
    script->press(ImGuiKey_Enter);
    CHECK(scene() == from - 1);
    CHECK((script->view().lesson.lesson != nullptr) == (from == 2));
    if (from == 2) CHECK(page() == 3);
  }
}

TEST_CASE("lecture: Enter on Next below a page that is a scene shows the next scene, and the last scene stays") {
  const TemporaryFolder folder;
  Session::Start start = start_with(folder.file("00-small.en.md", small_lesson));
  Deck deck;
  deck.scenes.resize(2);
  deck.scenes[0].lesson = ScenePage{"00-small", 3};
  deck.scenes[1].lesson = ScenePage{"00-small", 1};
  start.deck = std::make_shared<const Deck>(deck);
  const auto script = WindowScript::open(std::move(start), 1600, 900);
  if (script == nullptr) return;
  script->command(GoToScene{0});
  REQUIRE(script->view().lesson.lesson != nullptr);
  LessonAnswer none;
  none.given = false;
  const auto answer = [&] {
    REQUIRE(script->view().lesson.locked);
    script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  };
  answer();
  script->press(ImGuiKey_Enter);
  CHECK(script->view().lecture->scene() == 1);
  CHECK(script->view().lesson.page == 1);
  answer();
  script->press(ImGuiKey_Enter);
  CHECK(script->view().lecture->scene() == 1);
  CHECK(script->view().lesson.page == 1);
}
