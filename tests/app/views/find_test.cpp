// Search, range and copying in the window, without a display.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/lessons/glossary.h"
#include "app/model/run_data/timeline_data.h"
#include "app/model/run_data/timeline_search.h"
#include "app/model/state/window_state.h"
#include "app/ui/text_record.h"
#include "app/ui/widgets.h"
#include "app/views/keys.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

Session::Start start_with_words() {
  Session::Start start = opening_start();
  start.glossary = std::make_shared<const Glossary>(load_glossary());
  return start;
}

/// Moves over a rectangle until the text under the mouse is one that `fits` takes.
template <class Fits>
std::optional<TextAt> find_text(WindowScript& script, const Rect& in, Fits fits) {
  for (float y = in.min.y + 3; y < in.max.y; y += 5)
    for (float x = in.min.x + 3; x < in.max.x; x += 18) {
      script.hover(x, y);
      const auto found = text_under_mouse();
      if (found && fits(*found)) return found;
    }
  return std::nullopt;
}

void right_click(WindowScript& script) {
  script.frame().io().AddMouseButtonEvent(1, true);
  script.settle();
  script.frame().io().AddMouseButtonEvent(1, false);
  script.settle();
}

}  // namespace

TEST_CASE("find: Ctrl F opens it, a name and Enter go from operation to operation, Esc closes it") {
  const auto script = WindowScript::open(start_with_words(), 1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_F, ImGuiMod_Ctrl);
  REQUIRE(script->view().workspace->find);
  script->type("max");  // once for each key tile
  const Lane& lane = script->view().lane();
  const auto steps = steps_named(*lane.simulation, *lane.timeline->steps, "max");
  REQUIRE(steps.size() == 4);
  script->press(ImGuiKey_Enter);
  const std::int64_t first = script->view().lane().step;
  CHECK(std::find(steps.begin(), steps.end(), first) != steps.end());
  script->press(ImGuiKey_Enter);
  CHECK(script->view().lane().step != first);
  script->press(ImGuiKey_Enter, ImGuiMod_Shift);
  CHECK(script->view().lane().step == first);
  script->press(ImGuiKey_Escape);
  if (script->view().workspace->find) script->press(ImGuiKey_Escape);  // the first leaves the field
  CHECK_FALSE(script->view().workspace->find);
}

TEST_CASE("find: a word on screen shows its entry after a rest, and the menu explains and copies it") {
  const auto script = WindowScript::open(start_with_words(), 1600, 900);
  if (script == nullptr) return;
  const Rect timeline = script->frame().layout().timeline;
  const auto word =
      find_text(*script, {timeline.min, {timeline.min.x + 60, timeline.max.y}}, [](const TextAt& t) { return t.line == "HBM"; });
  REQUIRE(word);
  script->settle();  // the mouse rests
  CHECK(shown_tooltip().starts_with("HBM"));
  right_click(*script);
  REQUIRE(ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup));
  // The first entry copies the text.
  ImGui::SetClipboardText("");
  const ImGuiWindow& menu = *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
  script->click(menu.Pos.x + 20, menu.Pos.y + 18);
  CHECK(std::string(ImGui::GetClipboardText()) == "HBM");
}

TEST_CASE("copy: a single number of a table is copied from the menu") {
  const auto script = WindowScript::open(start_with_words(), 1600, 900);
  if (script == nullptr) return;
  const auto number =
      find_text(*script, script->frame().layout().traffic, [](const TextAt& t) { return t.line.starts_with("= "); });
  REQUIRE(number);
  right_click(*script);
  ImGui::SetClipboardText("");
  const ImGuiWindow& menu = *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
  script->click(menu.Pos.x + 20, menu.Pos.y + 18);
  CHECK(std::string(ImGui::GetClipboardText()) == number->text);
}

TEST_CASE("timeline: Ctrl and drag choose a stretch, Esc lets it go, and it is in the link") {
  const auto script = WindowScript::open(start_with_words(), 1600, 900);
  if (script == nullptr) return;
  const Rect timeline = script->frame().layout().timeline;
  const std::int64_t step = script->view().lane().step;
  script->frame().io().AddKeyEvent(ImGuiMod_Ctrl, true);
  script->drag({timeline.center().x, timeline.center().y}, {timeline.center().x + 200, timeline.center().y});
  script->frame().io().AddKeyEvent(ImGuiMod_Ctrl, false);
  script->settle();
  REQUIRE(script->view().workspace->range);
  CHECK(script->view().lane().step == step);  // the playhead stays
  const TimeRange range = *script->view().workspace->range;
  const std::string link = to_link(window_state_of(script->view()));
  CHECK(link.find("range=") != std::string::npos);
  script->press(ImGuiKey_Escape);
  CHECK_FALSE(script->view().workspace->range);
  script->command(OpenLink{link});
  CHECK(script->view().workspace->range == range);
}

TEST_CASE("timeline: W goes to the next stall and back, [ and ] choose a stretch at the playhead") {
  const auto script = WindowScript::open(start_with_words(), 1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_Home);
  script->press(ImGuiKey_W);
  const std::int64_t first = script->view().lane().step;
  CHECK(first > 0);
  script->press(ImGuiKey_W);
  CHECK(script->view().lane().step > first);
  script->press(ImGuiKey_W, ImGuiMod_Shift);
  CHECK(script->view().lane().step == first);
  const double from = script->view().playback.cycle;
  script->type("[");
  script->press(ImGuiKey_W);
  script->press(ImGuiKey_W);
  script->type("]");
  REQUIRE(script->view().workspace->range);
  CHECK(script->view().workspace->range->from == from);
  CHECK(script->view().workspace->range->to == script->view().playback.cycle);
}
