// The export button of the top bar: what it starts, and what it copies.
#include <string>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/session/export_job.h"
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

const ImGuiWindow& popover() {
  return *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
}

bool is_open() {
  return ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
}

/// Clicks the item `id` of the open popover, or the one of that name in a field's own scope.
void click_item(WindowScript& script, ImGuiID id) {
  const ImVec2 at = popover().Pos, size = popover().Size;
  for (float y = at.y; y < at.y + size.y; y += 6)
    for (float x = at.x + 160; x < at.x + size.x; x += 40) {
      script.hover(x, y);
      if (ImGui::GetCurrentContext()->HoveredId == id) return script.click(x, y);
    }
  FAIL("no such item");
}

std::string copied_command(WindowScript& script) {
  ImGui::SetClipboardText("");
  click_up(script, 130, [&] { return !is_open() || !std::string_view(ImGui::GetClipboardText()).empty(); });
  return ImGui::GetClipboardText();
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
  CHECK(copied.find(" --steps 21:48 ") != std::string::npos);  // from the shown step on
  CHECK(copied.ends_with(" --out tilescope.gif"));
}

TEST_CASE("window: while the name of an export is typed nothing moves; once it is left, its ending is the format") {
  const auto script = WindowScript::open(opening_start(), 1600, 900);
  if (script == nullptr) return;
  script->click(button_x, bar_y);
  script->settle();
  REQUIRE(is_open());
  const ImVec2 size = popover().Size;
  click_item(*script, ImHashStr("##file", 0, popover().ID));
  script->press(ImGuiKey_A, ImGuiMod_Ctrl);
  for (const char* letter : {"t", "r", "i", "p", ".", "p", "n", "g"}) {
    script->type(letter);
    CHECK(popover().Size.y == size.y);
  }
  script->press(ImGuiKey_Enter);
  script->settle();
  CHECK(popover().Size.y < size.y);  // a picture has no time per step
  CHECK(copied_command(*script).ends_with(" --out trip.png"));
  // A name without a known ending gets that of the format.
  click_item(*script, ImHashStr("##file", 0, popover().ID));
  script->press(ImGuiKey_A, ImGuiMod_Ctrl);
  script->type("trip.v2");
  script->press(ImGuiKey_Enter);
  CHECK(copied_command(*script).ends_with(" --out trip.v2.png"));
}

TEST_CASE("window: an export begins at the shown step, and a range that runs backward is refused") {
  const auto script = WindowScript::open(opening_start(), 1600, 900);
  if (script == nullptr) return;
  const auto open_dialog = [&] {
    script->click(button_x, bar_y);
    script->settle();
    REQUIRE(is_open());
  };
  open_dialog();
  script->press(ImGuiKey_Escape);
  script->command(SeekStep{30});
  open_dialog();
  CHECK(copied_command(*script).find(" --steps 30:48 ") != std::string::npos);
  const auto type_into = [&](const char* field, const char* text) {
    click_item(*script, ImHashStr("##value", 0, ImHashStr(field, 0, popover().ID)));
    script->type(text);
    script->press(ImGuiKey_Enter);
  };
  type_into("last", "12");
  CHECK(copied_command(*script).empty());
  CHECK(script->view().exporting->file.empty());
  type_into("first", "5");
  CHECK(copied_command(*script).find(" --steps 5:12 ") != std::string::npos);
  // Set by hand, it stays while the run does.
  script->press(ImGuiKey_Escape);
  script->command(SeekStep{40});
  open_dialog();
  CHECK(copied_command(*script).find(" --steps 5:12 ") != std::string::npos);
}

}  // namespace tilescope
