// What is typed into number fields and is not possible is said beside them.
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/ui/text_record.h"
#include "app/ui/typed_limits.h"
#include "app/views/chrome.h"
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

/// Opens the popover of the problem from the bar.
const ImGuiWindow& open_problem(WindowScript& script) {
  const auto open = [&] { return ImGui::GetCurrentContext()->OpenPopupStack.size() == 1; };
  for (float x = 500; x < 1000 && !open(); x += 40) script.click(x, 22);
  script.press(ImGuiKey_Escape);
  for (float x = 700; x < 800 && !open(); x += 20) script.click(x, 22);
  REQUIRE(open());
  return *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
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
  const ImGuiWindow& popover = open_problem(*script);
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

TEST_CASE("typed limits: a button that cannot double a number says what it did, and heads that break their groups are told") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  const ImGuiWindow& popover = open_problem(*script);
  enter(*script, "batch", "3000");
  CHECK(note() == nullptr);
  const ImVec2 field = field_of(*script, value_of("batch", popover), popover);
  const ImGuiID twice = ImHashStr("×2", 0, ImHashStr("batch", 0, popover.ID));
  float x = field.x;
  for (; x < popover.Pos.x + popover.Size.x; x += 8) {
    script->hover(x, field.y);
    if (ImGui::GetCurrentContext()->HoveredId == twice) break;
  }
  script->click(x, field.y);
  script->hover(5, 715);
  CHECK(script->view().requested->request.problem.batch == 4096);
  CHECK(note() != nullptr);
  enter(*script, "batch", "1");
  CHECK(note() == nullptr);

  enter(*script, "heads", "8");
  enter(*script, "kv_heads", "2");
  const auto text = [&] {
    const TextRecording recording;
    script->hover(5, 715);
    return recording.text();
  };
  CHECK(text().find("no whole groups") == std::string::npos);
  enter(*script, "heads", "6");
  CHECK(script->view().requested->request.problem.kv_heads == 6);
  CHECK(text().find("6 heads are no whole groups of 4: now each has its own K and V.") != std::string::npos);
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

namespace {

/// Frames of a sixtieth of a second.
void frames(WindowScript& script, int count) {
  for (int i = 0; i < count; ++i) script.frame().build(script.width(), script.height(), 1.0 / 60);
}

/// Types letter by letter, eight a second; returns what was simulated on the way.
std::vector<std::int64_t> slowly(WindowScript& script, const char* text) {
  std::vector<std::int64_t> rows;
  for (const char* letter = text; *letter != 0; ++letter) {
    script.frame().io().AddInputCharacter(static_cast<unsigned>(*letter));
    for (int i = 0; i < 8; ++i) {
      frames(script, 1);
      const std::int64_t now = script.view().requested->request.problem.seq_q;
      if (rows.empty() || rows.back() != now) rows.push_back(now);
      CHECK(note() == nullptr);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("typed limits: a half-typed number is not simulated; Enter, a pause and leaving the field finish it") {
  for (const int ending : {0, 1, 2, 3}) {
    CAPTURE(ending);
    const auto script = WindowScript::open(1280, 720);
    if (script == nullptr) return;
    const auto rows = [&] { return script->view().requested->request.problem.seq_q; };
    const std::int64_t before = rows();
    open_problem(*script);
    const ImGuiWindow& popover = *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
    const ImVec2 at = field_of(*script, value_of("seq", popover), popover);
    script->click(at.x, at.y);
    CHECK(slowly(*script, "192") == std::vector<std::int64_t>{before});
    if (ending == 0) script->press(ImGuiKey_Enter);
    if (ending == 1) frames(*script, 35);
    if (ending == 2) script->click(20, 700);
    if (ending == 3) script->press(ImGuiKey_Escape);
    CHECK(rows() == (ending == 3 ? before : 192));
  }
}

TEST_CASE("typed limits: a number that is too small on its way is refused only once the typing pauses") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  open_problem(*script);
  const ImGuiWindow& popover = *ImGui::GetCurrentContext()->OpenPopupStack.back().Window;
  const ImVec2 at = field_of(*script, value_of("seq", popover), popover);
  script->click(at.x, at.y);
  slowly(*script, "0");
  frames(*script, 35);
  CHECK(note() != nullptr);
  CHECK(script->view().requested->request.problem.seq_q == 1);
  slowly(*script, "2");
  frames(*script, 35);
  CHECK(note() == nullptr);
}

TEST_CASE("typed limits: a quantity is shown with its unit so that typing it again gives the same value") {
  CHECK(quantity_text(16e9, FieldUnit::bytes_per_second) == "16 GB/s");
  CHECK(quantity_text(50 * 1048576.0, FieldUnit::bytes) == "50 MiB");
  CHECK(quantity_text(1.98e9, FieldUnit::hertz) == "1980 MHz");
  for (const SpecKey& key : spec_keys()) {
    const NumberLimits limits = spec_limits(key);
    if (limits.unit == FieldUnit::none) continue;
    for (const double value : {key.minimum, 16e9, 3352320000000.0, 52428800.0, 232448.0, 1000.0, 1755e6, 12345678.0}) {
      CAPTURE(key.key);
      CAPTURE(value);
      REQUIRE(typed_number(quantity_text(value, limits.unit), limits));
      CHECK(*typed_number(quantity_text(value, limits.unit), limits) == doctest::Approx(value).epsilon(1e-9));
    }
  }
}

TEST_CASE("typed limits: a field with a unit is opened with its unit, and takes another number") {
  static double value = 16e9;
  static constexpr NumberLimits rate{1e6, 1e14, true, FieldUnit::bytes_per_second};
  PanelScreen screen({400, 200});
  ImGui::GetIO().ConfigDragClickToInputText = true;
  static ImGuiID id = 0;
  const auto draw = [](const View&, Commands&) {
    drag_quantity("##value", value, rate);
    id = ImGui::GetItemID();
  };
  screen.frame({}, draw);
  screen.click({}, draw, {60, 16});
  screen.frame({}, draw);
  REQUIRE(ImGui::TempInputIsActive(id));
  REQUIRE(typed_text());
  CHECK(*typed_text() == "16 GB/s");
  CHECK(value == 16e9);
  ImGui::GetIO().AddInputCharactersUTF8("2.5 TB/s");
  screen.frame({}, draw);
  ImGui::GetIO().AddKeyEvent(ImGuiKey_Enter, true);
  screen.frame({}, draw);
  screen.frame({}, draw);
  CHECK(value == 2.5e12);
}

}  // namespace tilescope
