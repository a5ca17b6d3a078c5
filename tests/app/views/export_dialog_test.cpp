// The export button of the top bar: what it starts, and what it copies.
#include <string>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/export_job.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

namespace {

constexpr float button_x = 1504, bar_y = 22;  // right of the theme's button, at 1600 pixels

/// Clicks down a column of the popover, which begins under its button, until `done`.
template <class Done>
void click_down(WindowScript& script, float x, Done done) {
  for (float y = 900; y > 60 && !done(); y -= 6) script.click(x, y);
}

}  // namespace

TEST_CASE("window: the export button starts an export of what is shown, and copies its command") {
  const auto script = WindowScript::open(opening_start(), 1600, 900);
  if (script == nullptr) return;
  script->click(button_x, bar_y);
  script->settle();
  // The popover is wider than the room right of the button, so that its left edge is further left.
  const auto open = [] { return ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel); };
  REQUIRE(open());
  const float left = ImGui::GetCurrentContext()->OpenPopupStack.back().Window->Pos.x;
  REQUIRE(left > 800);

  click_down(*script, left + 40, [&] { return !open() || !script->view().exporting->file.empty(); });
  REQUIRE(open());
  CHECK(script->view().exporting->file == "tilescope.gif");
  CHECK(script->view().exporting->refusal.find("Copy as command") != std::string::npos);  // a test has no program

  ImGui::SetClipboardText("");
  click_down(*script, left + 120, [&] { return !open() || std::string(ImGui::GetClipboardText()) != ""; });
  const std::string copied = ImGui::GetClipboardText();
  CAPTURE(copied);
  CHECK(copied.starts_with("tilescope export --algorithm flash2 "));
  CHECK(copied.find("--seq 16 --head-dim 4 ") != std::string::npos);
  CHECK(copied.find(" --steps 0:") != std::string::npos);
  CHECK(copied.ends_with(" --out tilescope.gif"));
}

}  // namespace tilescope
