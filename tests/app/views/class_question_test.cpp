// A question to the class: written from any scene, with bars that can be compared and one focus.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/state/window_state.h"
#include "app/ui/tab_stops.h"
#include "app/ui/text_record.h"
#include "app/views/chrome.h"
#include "app/views/lesson/lesson_clicker.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

ImGuiWindow* question_window(WindowScript& script) {
  script.frame().select();
  return ImGui::FindWindowByName("##question");
}

/// Clicks the button of the question with this label.
bool click_in_question(WindowScript& script, const char* label) {
  ImGuiWindow* const window = question_window(script);
  if (window == nullptr) return false;
  const ImGuiID id = window->GetID(label);
  for (float y = window->Pos.y + 8; y < window->Pos.y + window->Size.y; y += 8)
    for (float x = window->Pos.x + window->Size.x - 8; x > window->Pos.x; x -= 12) {
      script.hover(x, y);
      if (ImGui::GetCurrentContext()->HoveredId != id) continue;
      script.click(x, y);
      return true;
    }
  return false;
}

std::string text_on_screen(WindowScript& script) {
  const TextRecording recording;
  script.hover(5, 5);
  return recording.text();
}

/// Vertices of the lesson's column: a ring around an item adds some.
int vertices_of_lesson(WindowScript& script) {
  script.hover(5, 5);
  int vertices = 0;
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->Active && std::string_view(window->Name).find("/lesson_") != std::string_view::npos)
      vertices += window->DrawList->VtxBuffer.Size;
  return vertices;
}

/// A deck whose second scene raises a question of three choices.
Session::Start raised_start() {
  Session::Start start = opening_start();
  auto deck = std::make_shared<Deck>();
  deck->scenes.resize(2);
  for (Scene& scene : deck->scenes) scene.state = *from_link("seq=32&step=7");
  deck->scenes[1].question = ClassQuestion{"How many?", {"one", "two", "three"}, 2};
  deck->scenes[1].raised = true;
  start.deck = deck;
  return start;
}

/// Puts a press of the key and its end into the queue, without a frame.
void queue_key(WindowScript& script, ImGuiKey key) {
  script.frame().io().AddKeyEvent(key, true);
  script.frame().io().AddKeyEvent(key, false);
}

/// Puts 7, Tab, 2, Tab, 11 into the queue, all before the next frame.
void queue_counts(WindowScript& script) {
  const auto digit = [&](ImGuiKey key, const char* letter) {
    script.frame().io().AddKeyEvent(key, true);
    script.frame().io().AddInputCharactersUTF8(letter);
    script.frame().io().AddKeyEvent(key, false);
  };
  digit(ImGuiKey_7, "7");
  queue_key(script, ImGuiKey_Tab);
  digit(ImGuiKey_2, "2");
  queue_key(script, ImGuiKey_Tab);
  digit(ImGuiKey_1, "1");
  digit(ImGuiKey_1, "1");
}

std::vector<int> first_counts(const WindowScript& script) {
  const auto& counts = script.view().lecture->counts;
  return {counts[0], counts[1], counts[2]};
}

Session::Start small_lesson_start(const std::string& path) {
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(path);
  return start;
}

}  // namespace

TEST_CASE("lecture: without a deck a question is typed with its choices, and hands are counted") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_F11);
  script->press(ImGuiKey_Q);
  REQUIRE(script->view().lecture->asking);
  REQUIRE(click_in_question(*script, "Write a question"));
  CHECK(writes_question());
  script->type("Which tensor of QKV is quietest?");
  script->press(ImGuiKey_Q);  // a letter of the text, and no key of the window
  CHECK(script->view().lecture->asking);
  script->press(ImGuiKey_Enter);
  script->type("Q, of course");
  script->press(ImGuiKey_Enter);
  script->type("K");
  script->press(ImGuiKey_Enter, ImGuiMod_Ctrl);
  CHECK_FALSE(writes_question());
  const ClassQuestion asked = class_question(script->view());
  CHECK(asked.text == "Which tensor of QKV is quietest?");
  CHECK(asked.choices == std::vector<std::string>{"Q, of course", "K"});
  script->type("7");
  CHECK(script->view().lecture->counts[0] == 7);
  CHECK(text_on_screen(*script).find("100 %") != std::string::npos);
  script->press(ImGuiKey_Escape);
  script->press(ImGuiKey_Escape);
  CHECK_FALSE(script->view().lecture->asking);
  script->command(AskClass{true});
  CHECK(class_question(script->view()).text == asked.text);
}

TEST_CASE("lecture: the keys of a clicker work while the class is asked, whatever field has the focus") {
  Session::Start start = opening_start();
  auto deck = std::make_shared<Deck>();
  for (const char* link : {"seq=32&step=7", "seq=32&step=3"}) {
    deck->scenes.emplace_back();
    deck->scenes.back().state = *from_link(link);
  }
  deck->scenes.front().steps = StepRange{7, 12};
  deck->scenes.front().question = ClassQuestion{"How many?", {"one", "two"}, 2};
  start.deck = deck;
  const auto script = WindowScript::open(start, 1600, 900);
  if (script == nullptr) return;
  script->command(GoToScene{0});
  script->command(SetPresent{true});
  script->press(ImGuiKey_Q);
  REQUIRE(script->view().lecture->asking);
  const auto step = [&] { return script->view().lane().step; };
  const std::int64_t first = step();
  for (int turn = 1; turn <= 4; ++turn) {
    script->press(ImGuiKey_PageDown);
    CHECK(step() == first + turn);
  }
  for (int turn = 3; turn >= 1; --turn) {
    script->press(ImGuiKey_PageUp);
    CHECK(step() == first + turn);
  }
  CHECK(script->view().lecture->asking);
  script->press(ImGuiKey_B);
  CHECK(script->view().workspace->blank);
  script->press(ImGuiKey_B);
  CHECK_FALSE(script->view().workspace->blank);
  CHECK(script->view().lecture->asking);
}

TEST_CASE("lecture: while a question stands over the text of a lesson's scene, the playback bar says what Page Down does") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  auto deck = std::make_shared<Deck>();
  deck->scenes.resize(2);
  deck->scenes[0].lesson = ScenePage{"00-small", 0};
  start.deck = deck;
  const auto script = WindowScript::open(start, 1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  script->command(GoToScene{0});
  const auto times_said = [&] {
    const TextRecording recording;
    script->frame().build(script->width(), script->height(), 1.0 / 60);
    const std::string text = recording.text(), hint = next_click_in_lesson(script->view());
    int count = 0;
    for (std::size_t at = text.find(hint); at != std::string::npos; at = text.find(hint, at + 1)) ++count;
    return count;
  };
  CHECK(times_said() == 1);  // below the text
  script->command(AskClass{true});
  CHECK(times_said() == 2);  // that one is covered
}

TEST_CASE("lecture: a count goes to the choice after the one counted last, whatever keys came between, and overwrites none") {
  for (const bool leaves_fields : {false, true}) {
    CAPTURE(leaves_fields);
    Session::Start start = raised_start();
    auto deck = std::make_shared<Deck>(*start.deck);
    deck->scenes[1].steps = StepRange{7, 14};
    start.deck = deck;
    const auto script = WindowScript::open(start, 1600, 900);
    if (script == nullptr) return;
    script->command(SetPresent{true});
    script->command(GoToScene{1});
    script->type("7");
    CHECK(first_counts(*script) == std::vector<int>{7, 0, 0});
    const auto turn = [&] {
      script->press(ImGuiKey_PageDown);
      if (leaves_fields) script->click(3, 3);  // beside every field
    };
    turn();
    script->type("0");  // nobody
    turn();
    script->type("5");
    CHECK(first_counts(*script) == std::vector<int>{7, 0, 5});
    turn();
    script->type("9");
    CHECK(first_counts(*script) == std::vector<int>{7, 0, 5});  // there is no fourth choice
    // The question comes again: its hands are counted again.
    script->command(GoToScene{0});
    script->command(GoToScene{1});
    script->type("4");
    CHECK(first_counts(*script) == std::vector<int>{4, 0, 5});
  }
}

TEST_CASE("lecture: while a question is up on a scene with steps, the playback bar says when its answer comes") {
  Session::Start start = raised_start();
  auto deck = std::make_shared<Deck>(*start.deck);
  deck->scenes[1].steps = StepRange{7, 9};
  start.deck = deck;
  for (const auto& [width, height, scale] :
       {std::tuple(1920, 1080, 1.0F), std::tuple(1280, 720, 1.0F), std::tuple(1280, 720, 1.5F), std::tuple(1280, 720, 2.0F)}) {
    const float chosen = scale;  // a lambda of Clang captures no structured binding
    CAPTURE(chosen);
    const auto script = WindowScript::open(start, width, height, scale);
    if (script == nullptr) return;
    script->command(SetPresent{true});
    script->command(GoToScene{1});
    CHECK(text_on_screen(*script).find(", then the answer") != std::string::npos);
    script->press(ImGuiKey_PageDown);
    script->press(ImGuiKey_PageDown);
    CHECK(text_on_screen(*script).find("Page Down: the answer") != std::string::npos);
    script->press(ImGuiKey_PageDown);
    CHECK(shows_class_answer(script->view()));
    const std::string answered = text_on_screen(*script);
    for (const char* hint : {"Page Down: the answer", "then the answer"}) CHECK(answered.find(hint) == std::string::npos);
  }
}

TEST_CASE("lecture: in large text the choices of a question and its buttons stay in sight") {
  Session::Start start = raised_start();
  auto deck = std::make_shared<Deck>(*start.deck);
  deck->scenes[1].question =
      ClassQuestion{"Which is larger after the next tile, m or the sum?", {"m grows", "the sum grows", "both grow", "neither"}, 3};
  start.deck = deck;
  for (const float scale : {1.0F, 1.5F, 2.0F}) {
    CAPTURE(scale);
    const auto script = WindowScript::open(start, 1280, 720, scale);
    if (script == nullptr) return;
    script->command(SetPresent{true});
    script->command(GoToScene{1});
    const ImGuiWindow* const question = question_window(*script);
    REQUIRE(question != nullptr);
    CHECK(question->ScrollMax.y == 0);
  }
}

TEST_CASE("lecture: in large text the question and its choices take the room of their column") {
  for (const float scale : {1.5F, 2.0F}) {
    CAPTURE(scale);
    Session::Start start = opening_start();
    start.lessons = std::make_shared<const LessonList>(load_lesson_list());
    const auto script = WindowScript::open(std::move(start), 1280, 720, scale);
    if (script == nullptr) return;
    script->command(SetPresent{true});
    script->command(OpenLesson{"09-causal-balance", 4});
    script->command(AskClass{true});
    const ImGuiWindow* const question = question_window(*script);
    REQUIRE(question != nullptr);
    CHECK(question->ScrollMax.y == 0);
    CHECK(question->ContentSize.y > 0.73F * question->Size.y);
  }
}

TEST_CASE("lecture: a letter typed while a count has the keyboard is no key of the window, but for those of the question") {
  const auto script = WindowScript::open(raised_start(), 1600, 900);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  script->command(GoToScene{1});
  script->type("7");
  REQUIRE(script->frame().typing());
  const std::string before = to_link(window_state_of(script->view()));
  for (int key = ImGuiKey_A; key <= ImGuiKey_Z; ++key) {
    if (key == ImGuiKey_B || key == ImGuiKey_Q) continue;  // the black screen, and back to the picture
    CAPTURE(static_cast<char>('A' + key - ImGuiKey_A));
    script->frame().io().AddInputCharacter(static_cast<unsigned>('a' + key - ImGuiKey_A));
    script->press(static_cast<ImGuiKey>(key));
    CHECK_FALSE(script->view().lecture->presenter);
    CHECK_FALSE(script->view().lecture->listed);
    CHECK(script->view().lecture->asking);
    CHECK(to_link(window_state_of(script->view())) == before);
  }
  CHECK(first_counts(*script) == std::vector<int>{7, 0, 0});
}

TEST_CASE("lecture: counts typed at once after a question is raised go where they go when typed slowly") {
  const std::vector<int> slowly = {7, 2, 11};
  for (const bool by_key : {false, true}) {
    CAPTURE(by_key);
    const auto script = WindowScript::open(raised_start(), 1600, 900);
    if (script == nullptr) return;
    script->command(SetPresent{true});
    script->command(GoToScene{0});
    if (by_key)
      queue_key(*script, ImGuiKey_PageDown);
    else
      script->session().apply(GoToScene{1});
    queue_counts(*script);
    script->settle();
    CHECK(script->view().lecture->scene() == 1);
    CHECK(first_counts(*script) == slowly);
  }
}

TEST_CASE("lecture: counts go to the fields in order while no field has the keyboard, and none comes late") {
  const auto script = WindowScript::open(raised_start(), 1600, 900);
  if (script == nullptr) return;
  script->command(GoToScene{1});
  script->click(3, 3);  // beside every field
  CHECK_FALSE(script->frame().io().WantTextInput);
  queue_counts(*script);
  script->settle();
  CHECK(first_counts(*script) == std::vector<int>{7, 2, 11});
  // A digit that is followed by a key before it was let go.
  script->command(GoToScene{0});
  script->command(GoToScene{1});
  script->click(3, 3);
  script->frame().io().AddKeyEvent(ImGuiKey_5, true);
  script->frame().io().AddInputCharactersUTF8("5");
  queue_key(*script, ImGuiKey_Tab);
  script->frame().io().AddInputCharactersUTF8("6");
  script->frame().io().AddKeyEvent(ImGuiKey_5, false);
  script->settle();
  CHECK(first_counts(*script) == std::vector<int>{5, 6, 11});
}

TEST_CASE("lecture: the first letters of a question and of its choices are kept, however fast they come") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_F11);
  script->press(ImGuiKey_Q);
  REQUIRE(click_in_question(*script, "Write a question"));
  script->frame().io().AddInputCharactersUTF8("Which?");
  queue_key(*script, ImGuiKey_Enter);
  script->frame().io().AddInputCharactersUTF8("one");
  script->settle();
  script->press(ImGuiKey_Enter, ImGuiMod_Ctrl);
  CHECK(class_question(script->view()).text == "Which?");
  CHECK(class_question(script->view()).choices == std::vector<std::string>{"one"});
}

TEST_CASE("lecture: the answer of a lesson's page is hidden again, by its button too") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(small_lesson_start(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  script->command(OpenLesson{"00-small"});
  script->press(ImGuiKey_Q);
  REQUIRE(click_in_question(*script, "Show the answer"));
  CHECK(shows_class_answer(script->view()));
  REQUIRE(click_in_question(*script, "Hide the answer"));
  CHECK_FALSE(shows_class_answer(script->view()));
  CHECK(script->view().lesson.locked);
  CHECK(script->view().lecture->asking);
}

TEST_CASE("lecture: a question of the moment belongs to what is shown, and one of a scene is not written over") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(BookmarkState{});
  script->command(BookmarkState{});
  CHECK(can_write_question(script->view()));
  script->command(WriteQuestion{std::make_shared<const ClassQuestion>(ClassQuestion{"How many?", {"one", "two"}, 2})});
  script->command(CountAnswer{1, 4});
  CHECK(class_question(script->view()).text == "How many?");
  script->command(WriteQuestion{std::make_shared<const ClassQuestion>(ClassQuestion{"How many tiles?", {"one", "two"}, 2})});
  CHECK(script->view().lecture->counts[1] == 4);  // the same choices
  script->command(WriteQuestion{std::make_shared<const ClassQuestion>(ClassQuestion{"How many?", {"one", "three"}, 2})});
  CHECK(script->view().lecture->counts[1] == 0);
  script->command(AskClass{true, true});
  CHECK(shows_class_answer(script->view()));
  script->command(GoToScene{0});
  CHECK(class_question(script->view()).text.empty());
  Scene asks = *script->view().lecture->shown();
  asks.question = ClassQuestion{"Of the scene?", {"yes"}, 1};
  script->command(EditScene{0, std::make_shared<const Scene>(asks)});
  CHECK_FALSE(can_write_question(script->view()));
  CHECK(class_question(script->view()).text == "Of the scene?");
}

TEST_CASE("lecture: the bars of three long choices have the width of the window") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(AskClass{true});
  const auto columns = [&] {
    script->hover(5, 5);
    ImGuiWindow* const window = question_window(*script);
    REQUIRE(window != nullptr);
    const ImGuiTable* const table = ImGui::TableFindByID(window->GetID("choices"));
    REQUIRE(table != nullptr);
    return table->ColumnsCount;
  };
  script->command(WriteQuestion{std::make_shared<const ClassQuestion>(
      ClassQuestion{"What is e to the power of the largest score?", {"A large number", "Infinity", "Zero"}, 2})});
  CHECK(columns() == 1);
  script->command(WriteQuestion{std::make_shared<const ClassQuestion>(ClassQuestion{"How many?", {"1", "2", "3", "4"}, 2})});
  CHECK(columns() == 2);
}

TEST_CASE("lecture: presented, a question to the class takes nothing from the stage") {
  const TemporaryFolder folder;
  for (const bool of_lesson : {false, true}) {
    CAPTURE(of_lesson);
    const auto script = WindowScript::open(small_lesson_start(folder.file("00-small.en.md", small_lesson)), 1600, 900);
    if (script == nullptr) return;
    script->command(SetPresent{true});
    if (of_lesson) script->command(OpenLesson{"00-small"});
    const auto stage = [&]() -> const ImGuiWindow* {
      script->hover(5, 5);
      for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
        if (window->Active && std::string_view(window->Name).find("/stage_") != std::string_view::npos) return window;
      return nullptr;
    };
    REQUIRE(stage() != nullptr);
    const ImRect before = stage()->Rect();
    script->press(ImGuiKey_Q);
    const ImGuiWindow* const question = question_window(*script);
    REQUIRE(question != nullptr);
    REQUIRE(stage() != nullptr);
    CHECK(stage()->Rect().Min.x == before.Min.x);
    CHECK(stage()->Rect().Max.x == before.Max.x);
    CHECK(stage()->Rect().GetHeight() == before.GetHeight());
    CHECK_FALSE(question->Rect().Overlaps(before));
    CHECK(question->ScrollMax.y == 0);
  }
}

TEST_CASE("lecture: presented, the question of a page has the whole column of the text, as that of a scene has") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(small_lesson_start(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  script->command(SetPresent{true});
  script->press(ImGuiKey_Q);
  const ImGuiWindow* const window = question_window(*script);
  REQUIRE(window != nullptr);
  CHECK(window->Size.y > 0.85F * 720);
}

TEST_CASE("lecture: the clicker closes the question of a lesson after its answer, and the class reads why") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(small_lesson_start(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  script->command(OpenLesson{"00-small"});
  script->press(ImGuiKey_Q);
  script->press(ImGuiKey_PageDown);
  CHECK_FALSE(script->view().lesson.locked);
  CHECK(script->view().lecture->asking);  // with what was counted
  script->press(ImGuiKey_PageDown);
  CHECK_FALSE(script->view().lecture->asking);
  CHECK(script->view().lesson.page == 0);
}

TEST_CASE("lecture: presented text and the pointer grow with the height of the window") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  const auto text = [&] {
    script->hover(5, 5);
    return ImGui::GetIO().FontDefault->FontSize / static_cast<float>(script->height());
  };
  const auto pointer = [&] {
    script->frame().io().AddKeyEvent(ImGuiKey_L, true);
    script->hover(300, 300);
    float top = 300, low = 300;
    for (const ImDrawVert& vertex : ImGui::GetForegroundDrawList()->VtxBuffer)
      if ((vertex.col >> IM_COL32_A_SHIFT) > 230) top = std::min(top, vertex.pos.y), low = std::max(low, vertex.pos.y);
    script->frame().io().AddKeyEvent(ImGuiKey_L, false);
    script->hover(300, 300);
    return (low - top) / static_cast<float>(script->height());
  };
  const float small = text();
  CHECK(pointer() == doctest::Approx(0.025).epsilon(0.15));
  for (const auto& [width, height] : {std::pair(1600, 900), std::pair(3840, 2160)}) {
    script->resize(width, height);
    CHECK(text() == doctest::Approx(small).epsilon(0.06));
    CHECK(pointer() == doctest::Approx(0.025).epsilon(0.15));
  }
}

TEST_CASE("lecture: beside a question to the class a presented plot is narrower, and none of it is cut") {
  Session::Start start = opening_start();
  start.center = CenterView::sweep;
  const auto script = WindowScript::open(start, 1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  script->command(AskClass{true});
  script->frame().select();
  int found = 0;
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows) {
    if (!window->Active || std::string_view(window->Name).find("/sweep_") == std::string_view::npos) continue;
    ++found;
    CHECK(window->ScrollMax.y == 0);
    CHECK(window->ScrollMax.x == 0);
    CHECK_FALSE(question_window(*script)->Rect().Overlaps(window->Rect()));
  }
  CHECK(found == 1);
}

TEST_CASE("lecture: while the class is asked, Tab moves one focus, that of the question") {
  const TemporaryFolder folder;
  const auto script = WindowScript::open(small_lesson_start(folder.file("00-small.en.md", small_lesson)), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  script->command(SetPresent{true});
  script->command(AskClass{true});
  const int without_ring = vertices_of_lesson(*script);
  script->command(AskClass{false});
  script->press(ImGuiKey_Tab);
  const int with_ring = vertices_of_lesson(*script);
  script->press(ImGuiKey_Q);
  REQUIRE(script->view().lecture->asking);
  CHECK(vertices_of_lesson(*script) == without_ring);
  script->press(ImGuiKey_Tab);
  script->press(ImGuiKey_Tab);
  CHECK(vertices_of_lesson(*script) == without_ring);
  CHECK_FALSE(tab_stop_has_focus());
  script->press(ImGuiKey_Escape);
  script->press(ImGuiKey_Escape);
  CHECK(script->view().lecture->asking == false);
  CHECK(with_ring != without_ring);
}

TEST_CASE("lecture: presented, a scene without a title is named by what it shows") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  script->command(BookmarkState{});
  script->command(SetPresent{true});
  const std::string name = scene_name(*script->view().lecture->shown());
  CHECK(name.find("d 16") != std::string::npos);
  CHECK(text_on_screen(*script).find(name) != std::string::npos);
  Scene page;  // its state is not what it shows
  page.lesson = ScenePage{"01-why-memory", 1};
  CHECK(scene_name(page) == "01-why-memory:2");
}

TEST_CASE("lecture: a scene whose question waits for its key says the key; one that is raised needs none") {
  Session::Start start = opening_start();
  auto deck = std::make_shared<Deck>();
  deck->scenes.resize(2);
  for (Scene& scene : deck->scenes) {
    scene.state = *from_link("seq=32&step=7");
    scene.question = ClassQuestion{"How many?", {"one", "two"}, 2};
  }
  deck->scenes[0].steps = StepRange{7, 12};
  deck->scenes[1].raised = true;
  start.deck = deck;
  const auto script = WindowScript::open(start, 1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  script->command(GoToScene{0});
  CHECK(text_on_screen(*script).find("Q: the question") != std::string::npos);
  script->press(ImGuiKey_Q);
  CHECK(text_on_screen(*script).find("Q: the question") == std::string::npos);
  script->command(GoToScene{1});
  CHECK(script->view().lecture->asking);
  const std::string raised = text_on_screen(*script);
  CHECK(raised.find("How many?") != std::string::npos);
  CHECK(raised.find("Q: the question") == std::string::npos);
}

TEST_CASE("lecture: the list of scenes sets whether a question is raised when its scene opens") {
  Session::Start start = opening_start();
  auto deck = std::make_shared<Deck>();
  deck->scenes.resize(1);
  deck->scenes[0].state = *from_link("seq=32&step=7");
  deck->scenes[0].question = ClassQuestion{"How many?", {"one", "two"}, 2};
  start.deck = deck;
  const auto script = WindowScript::open(start, 1600, 900);
  if (script == nullptr) return;
  script->command(GoToScene{0});
  script->command(ShowScenes{true});
  script->frame().select();
  ImGuiWindow* const list = ImGui::FindWindowByName("##scenes");
  REQUIRE(list != nullptr);
  const ImGuiID id = list->GetID("Ask when the scene opens");
  for (float y = list->Pos.y; y < list->Pos.y + list->Size.y && !script->view().lecture->shown()->raised; y += 8) {
    script->hover(list->Pos.x + 40, y);
    if (ImGui::GetCurrentContext()->HoveredId == id) script->click(list->Pos.x + 40, y);
  }
  CHECK(script->view().lecture->shown()->raised);
  CHECK(script->view().lecture->shown()->question.has_value());
}
