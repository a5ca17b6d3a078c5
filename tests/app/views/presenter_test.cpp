// The presenter's window: a small picture of what the class sees, and what comes next.
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/requests/assets.h"
#include "app/next_picture.h"
#include "app/ui/text_record.h"
#include "app/views/lecture/small_picture.h"
#include "app/window.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

TEST_CASE("presenter: the next picture is that of the next page or scene, as the class will see it") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  auto deck = std::make_shared<Deck>();
  for (const char* link : {"seq=16&step=1", "seq=32&step=2"}) {
    deck->scenes.emplace_back();
    deck->scenes.back().state = *from_link(link);
  }
  start.deck = deck;
  const auto script = WindowScript::open(start, 1280, 720);
  if (script == nullptr) return;
  const auto arguments = [&] { return fmt::format("{}", fmt::join(next_picture_arguments(script->view()), " ")); };
  script->command(GoToScene{0});
  CHECK(arguments().find("--open " + to_link(deck->scenes[1].state)) == 0);
  CHECK(arguments().find(" --present") != std::string::npos);
  script->command(GoToScene{1});
  CHECK(arguments().empty());
  script->command(OpenLesson{"00-small"});
  CHECK(arguments().find("--lesson 00-small:2 ") == 0);
  script->command(OpenLesson{"00-small", 4});
  CHECK(arguments().empty());
}

TEST_CASE("presenter: what the class sees stands small beside the next page") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  const auto script = WindowScript::open(start, 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"00-small"});
  const Picture seen = script->picture();

  AppFrame::Options options;
  options.panel = "presenter";
  options.follows = true;
  auto frame = AppFrame::make(script->session(), options);
  REQUIRE(frame);
  const auto draw = [&] {
    for (int i = 0; i < 3; ++i) (*frame)->build(960, 640, 0.02);
    const TextRecording recording;
    (*frame)->build(960, 640, 0.02);
    return recording.text();
  };
  const auto pictures = [] {
    int count = 0;
    for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists)
      for (const ImDrawCmd& command : list->CmdBuffer)
        count += command.UserCallback == nullptr && command.ElemCount == 6 && command.GetTexID() != ImGui::GetIO().Fonts->TexID;
    return count;
  };
  std::string text = draw();
  CHECK(text.find("The class sees") == std::string::npos);
  CHECK(text.find("Next: Number") != std::string::npos);
  CHECK(text.find("Shows: ") != std::string::npos);
  CHECK(pictures() == 0);

  (*frame)->select();
  class_picture().take(seen);
  text = draw();
  CHECK(text.find("The class sees") != std::string::npos);
  CHECK(text.find("Next: Number") != std::string::npos);
  CHECK(pictures() == 1);

  CHECK(text.find("Then it sees") == std::string::npos);
  next_picture().take(seen);
  CHECK(draw().find("Then it sees") != std::string::npos);
  CHECK(pictures() == 2);
  next_picture().clear();
  draw();
  CHECK(pictures() == 1);
  frame->reset();
  script->frame().select();
}

TEST_CASE("presenter: a scene that shows a lesson's page has its own notes first, and its number in the deck") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  auto deck = std::make_shared<Deck>();
  deck->scenes.resize(3);
  deck->scenes[1].lesson = ScenePage{"00-small", 4};
  deck->scenes[1].notes = "Ask Mina first.";
  deck->scenes[2].lesson = ScenePage{"00-small", 4};
  start.deck = deck;
  const auto script = WindowScript::open(start, 1280, 720);
  if (script == nullptr) return;
  script->command(GoToScene{1});
  REQUIRE(script->view().lesson.lesson != nullptr);
  AppFrame::Options options;
  options.panel = "presenter";
  options.follows = true;
  auto frame = AppFrame::make(script->session(), options);
  REQUIRE(frame);
  const auto draw = [&] {
    for (int i = 0; i < 3; ++i) (*frame)->build(960, 640, 0.02);
    const TextRecording recording;
    (*frame)->build(960, 640, 0.02);
    return recording.text();
  };
  const std::string of_scene = draw();
  CHECK(of_scene.find("scene 2 of 3") != std::string::npos);
  CHECK(of_scene.find("page 5 of 5") == std::string::npos);
  const std::size_t own = of_scene.find("Ask Mina first."), of_page = of_scene.find("For the lecturer");
  REQUIRE(own != std::string::npos);
  REQUIRE(of_page != std::string::npos);
  CHECK(own < of_page);
  const auto answered = [&] {
    LessonAnswer none;
    none.given = false;
    script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
    return draw();
  };
  CHECK(answered().find("then the next scene") != std::string::npos);
  script->command(GoToScene{2});
  const std::string of_last = answered();
  CHECK(of_last.find("then the next scene") == std::string::npos);
  CHECK(of_last.find("the rest of the text. This is the last scene.") != std::string::npos);
  script->command(OpenLesson{"00-small", 3});  // a page beside the deck
  const std::string of_lesson = draw();
  CHECK(of_lesson.find("page 4 of 5") != std::string::npos);
  CHECK(of_lesson.find("Ask Mina first.") == std::string::npos);
  frame->reset();
  script->frame().select();
}

TEST_CASE("presenter: rendered alone it has the small pictures of its window, and larger text in a larger one") {
  if (WindowScript::open(64, 64) == nullptr) return;
  RenderOptions options;
  options.request = opening_start().request;
  options.panel = "presenter";
  options.lesson = "1:2";
  options.width = 960;
  options.height = 640;
  const TextRecording recording;
  REQUIRE(render_picture(options));
  const std::string text = recording.text();
  CHECK(text.find("The class sees") != std::string::npos);
  CHECK(text.find("Then it sees") != std::string::npos);
}
