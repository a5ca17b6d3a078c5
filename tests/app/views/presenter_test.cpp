// The presenter's window: a small picture of what the class sees, and what comes next.
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <imgui.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_list.h"
#include "app/ui/text_record.h"
#include "app/views/lecture/class_picture.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

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
  frame->reset();
  script->frame().select();
}
