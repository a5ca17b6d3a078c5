// What is typed into number fields and is not possible is said beside them.
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/ui/typed_limits.h"
#include "sim/analysis/format.h"
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

TEST_CASE("typed limits: a valid number gives no message") {
  CHECK(typed_refusal("1", {1, 4096, true}, 1).empty());
  CHECK(typed_refusal(" +4096 ", {1, 4096, true}, 1).empty());
  CHECK(typed_refusal("2.5e3", {0.01, 1e6}, 2500).empty());
}

TEST_CASE("typed limits: an out-of-range number is refused with the limits and the value in use") {
  CHECK(typed_refusal("100000", {1, 4096, true}, 4096) == "100000 is out of range (1 to 4\u2009096); using 4\u2009096.");
  CHECK(typed_refusal("0", {1, 256, true}, 1) == "0 is out of range (1 to 256); using 1.");
  CHECK(typed_refusal("99999999999999999999", {1, 256, true}, 256).starts_with("99999999999999999999 is out of range"));
  CHECK(typed_refusal("0", {0.01, 1e6}, 0.01) == "0 is out of range (0.01 to 1.00 M); using 0.01.");
}

TEST_CASE("typed limits: text that is not a number is refused") {
  CHECK(typed_refusal("1e6", {1, 256, true}, 1) == "“1e6” is not a whole number (1 to 256); using 1.");
  CHECK(typed_refusal("many", {0, 8}, 2) == "“many” is not a number (0 to 8); using 2.");
}

TEST_CASE("typed limits: a refusal stays next to the field until valid input, and moves nothing") {
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

TEST_CASE("typed limits: a field with a unit takes prefixes and the unit shown beside it") {
  const NumberLimits rate{1e6, 1e14, true, FieldUnit::bytes_per_second};
  for (const char* twelve : {"12 GB/s", "12G", "12 g", "12000M", "12e9", "12000000000", "0.012 TB/s"}) {
    CAPTURE(twelve);
    REQUIRE(typed_number(twelve, rate));
    CHECK(*typed_number(twelve, rate) == doctest::Approx(12e9));
    CHECK(typed_refusal(twelve, rate, 4e9).empty());
  }
  for (const char* wrong : {"12 GB", "12 Hz", "G", "many", "12..5", ""}) {
    CAPTURE(wrong);
    CHECK_FALSE(typed_number(wrong, rate));
  }
  CHECK(*typed_number("1980 MHz", {1e6, 1e10, true, FieldUnit::hertz}) == doctest::Approx(1.98e9));
  const NumberLimits capacity{0, 1e12, true, FieldUnit::bytes};
  CHECK(*typed_number("4 KiB", capacity) == 4096);
  CHECK(*typed_number("4K", capacity) == 4096);
  CHECK(*typed_number("4 kB", capacity) == 4000);
  CHECK(typed_refusal("1", rate, 4e9) ==
        fmt::format("1 is out of range ({} to {}); it stays 4 GB/s.", format_bandwidth(rate.low), format_bandwidth(rate.high)));
}

TEST_CASE("typed limits: invalid input into a GPU's number leaves the value from before") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  const auto rate = [&] { return script->view().requested->request.gpu.hbm_bytes_per_second; };
  const double before = rate();
  script->command(SetCenter{CenterView::what_if});
  const ImGuiWindow* panel = nullptr;
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->Active && std::string_view(window->Name).find("/what_if_") != std::string_view::npos) panel = window;
  REQUIRE(panel != nullptr);
  const ImVec2 at = field_of(*script, ImHashStr("##value", 0, panel->ID), *panel);
  const auto enter_text = [&](const char* text) {
    script->frame().io().AddKeyEvent(ImGuiMod_Ctrl, true);
    script->click(at.x, at.y);
    script->frame().io().AddKeyEvent(ImGuiMod_Ctrl, false);
    script->type(text);
    script->press(ImGuiKey_Enter);
  };
  enter_text("12 XB");
  CHECK(rate() == before);
  REQUIRE(note() != nullptr);
  enter_text("1");
  CHECK(rate() == before);
  enter_text("12 GB/s");
  CHECK(rate() == 12e9);
  CHECK(note() == nullptr);
}

}  // namespace tilescope
