// The export button of the top bar: what it starts, and what it copies.
#include <string>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/export_job.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

namespace {

constexpr float button_x = 1504, bar_y = 22;  // right of the theme's button, at 1600 pixels

/// Clicks up a column of the popover until `done`: its buttons are at its end.
template <class Done>
void click_up(WindowScript& script, float from_left, Done done) {
  const ImGuiWindow& popover = *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
  const ImVec2 at = popover.Pos, size = popover.Size;
  for (float y = at.y + size.y - 4; y > at.y && !done(); y -= 6) script.click(at.x + from_left, y);
}

}  // namespace

TEST_CASE("window: the export button starts an export of what is shown, and copies its command") {
  const auto script = WindowScript::open(opening_start(), 1600, 900);
  if (script == nullptr) return;
  script->click(button_x, bar_y);
  script->settle();
  const auto open = [] { return ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel); };
  REQUIRE(open());
  click_up(*script, 40, [&] { return !open() || !script->view().exporting->file.empty(); });
  REQUIRE(open());
  CHECK(script->view().exporting->file == "tilescope.gif");
  CHECK(script->view().exporting->refusal.text().find("Copy as command") != std::string::npos);  // a test has no program

  ImGui::SetClipboardText("");
  click_up(*script, 130, [&] { return !open() || !std::string_view(ImGui::GetClipboardText()).empty(); });
  const std::string copied = ImGui::GetClipboardText();
  CAPTURE(copied);
  CHECK(copied.starts_with("tilescope export --algorithm flash2 "));
  CHECK(copied.find("--seq 64 --head-dim 16 ") != std::string::npos);
  CHECK(copied.find(" --steps 8:48 ") != std::string::npos);
  CHECK(copied.ends_with(" --out tilescope.gif"));
}

}  // namespace tilescope
