// What is typed into number fields and is not possible is said beside them.
#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/ui/typed_limits.h"
#include "tests/app/views/panel_screen.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

namespace {

const ImGuiWindow* note() {
  const ImGuiWindow* window = ImGui::FindWindowByName("##limits");
  return window != nullptr && window->Active ? window : nullptr;
}

/// The first place of `area`, row by row, where the pointer is over an item that a text can be typed into.
ImVec2 field_of(WindowScript& script, ImGuiID id, const ImGuiWindow& window) {
  for (float y = window.Pos.y; y < window.Pos.y + window.Size.y; y += 8)
    for (float x = window.Pos.x; x < window.Pos.x + window.Size.x; x += 40) {
      script.hover(x, y);
      if (ImGui::GetCurrentContext()->HoveredId == id) return {x, y};
    }
  FAIL("no such field");
  return {};
}

ImGuiID value_of(const char* field, const ImGuiWindow& window) {
  return ImHashStr("##value", 0, ImHashStr(field, 0, window.ID));
}

/// Types into the number field `field` of the open popover and leaves it with Enter.
void enter(WindowScript& script, const char* field, const char* text) {
  const ImGuiWindow& popover = *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
  const ImVec2 at = field_of(script, value_of(field, popover), popover);
  script.click(at.x, at.y);
  script.type(text);
  script.press(ImGuiKey_Enter);
}

}  // namespace

TEST_CASE("typed limits: a number within them is not remarked on") {
  CHECK(typed_refusal("1", {1, 4096, true}, 1).empty());
  CHECK(typed_refusal(" +4096 ", {1, 4096, true}, 1).empty());
  CHECK(typed_refusal("2.5e3", {0.01, 1e6}, 2500).empty());
}

TEST_CASE("typed limits: what is beyond them is said with the limits and what is used") {
  CHECK(typed_refusal("100000", {1, 4096, true}, 4096) == "100000 was asked for; 1 to 4\u2009096 is possible, 4\u2009096 is used.");
  CHECK(typed_refusal("0", {1, 256, true}, 1) == "0 was asked for; 1 to 256 is possible, 1 is used.");
  CHECK(typed_refusal("99999999999999999999", {1, 256, true}, 256).starts_with("99999999999999999999 was asked for"));
  CHECK(typed_refusal("0", {0.01, 1e6}, 0.01) == "0 was asked for; 0.01 to 1.00 M is possible, 0.01 is used.");
}

TEST_CASE("typed limits: what is no number is said to be none") {
  CHECK(typed_refusal("1e6", {1, 256, true}, 1) == "“1e6” is no whole number; 1 to 256 is possible, 1 is used.");
  CHECK(typed_refusal("many", {0, 8}, 2) == "“many” is no number; 0 to 8 is possible, 2 is used.");
}

TEST_CASE("typed limits: a refusal stands beside the field until the next number that is possible, and moves nothing") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  const auto open = [&] { return ImGui::GetCurrentContext()->OpenPopupStack.size() == 1; };
  for (float x = 500; x < 1000 && !open(); x += 40) script->click(x, 22);
  script->press(ImGuiKey_Escape);
  for (float x = 700; x < 800 && !open(); x += 20) script->click(x, 22);
  REQUIRE(open());
  const ImGuiWindow& popover = *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
  const ImVec2 size = popover.Size;
  CHECK(note() == nullptr);

  enter(*script, "heads", "100000");
  CHECK(script->view().requested->request.problem.heads == 4096);
  REQUIRE(note() != nullptr);
  CHECK(popover.Size.x == size.x);
  CHECK(popover.Size.y == size.y);
  CHECK(note()->Pos.x + note()->Size.x <= 1280);

  enter(*script, "seq", "0");
  CHECK(script->view().requested->request.problem.seq_q == 1);
  CHECK(note() != nullptr);

  enter(*script, "seq", "1");
  CHECK(note() == nullptr);
  enter(*script, "heads", "2");
  CHECK(script->view().requested->request.problem.heads == 2);
  CHECK(note() == nullptr);
}

}  // namespace tilescope
