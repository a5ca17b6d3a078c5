// Every view by Tab, arrows and Enter alone: no test here moves a mouse.
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/requests/assets.h"
#include "app/model/state/center_views.h"
#include "app/model/state/window_state.h"
#include "app/ui/tab_stops.h"
#include "app/ui/text_record.h"
#include "app/views/study_panel.h"
#include "sim/analysis/format.h"
#include "tests/app/views/window_script.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {

std::string text_of(WindowScript& script) {
  const TextRecording recording;
  script.settle();
  return recording.text();
}

bool shows(WindowScript& script, std::string_view text) {
  return text_of(script).find(text) != std::string::npos;
}

/// Chooses a view by its digit.
void go_to(WindowScript& script, CenterView view) {
  for (std::size_t i = 0; i < center_views().size(); ++i)
    if (center_views()[i].view == view) script.press(static_cast<ImGuiKey>(ImGuiKey_0 + (static_cast<int>(i) + 1) % 10));
  REQUIRE(script.view().workspace->center == view);
}

/// Presses Tab until a stop has the focus that `is_it`, which is inside the window and has a ring.
template <class Is>
bool tab_to(WindowScript& script, Is is_it) {
  constexpr int most_stops = 120;
  for (int i = 0; i < most_stops; ++i) {
    script.press(ImGuiKey_Tab);
    const Rect stop = focused_tab_stop();
    if (stop.width() > 0 && is_it(stop)) return true;
  }
  return false;
}

bool tab_to_group(WindowScript& script) {
  return tab_to(script, [](const Rect&) { return tab_group_has_focus(); });
}

bool enters_field(WindowScript& script) {
  script.press(ImGuiKey_Enter);
  return ImGui::GetIO().WantTextInput;
}

}  // namespace

TEST_CASE("keyboard: a tile of Fit is reached by the arrows and used by Enter, and each of its maps is enlarged so") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  go_to(*script, CenterView::fit);
  REQUIRE(tab_to_group(*script));
  const TileShape before = *script->view().requested->request.tile;
  const Rect first = focused_tab_stop();
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_RightArrow);
  const Rect now = focused_tab_stop();
  CHECK(now.min.x > first.min.x);
  CHECK(now.min.y > first.min.y);
  CHECK(script->view().lane().step == script->view().lanes.back().step);
  script->press(ImGuiKey_Enter);
  CHECK(*script->view().requested->request.tile != before);
  CHECK(focused_tab_stop().width() > 0);  // kept while other maps replace these
  // The small maps are the next stop.
  const auto map = script->view().workspace->views.fit_map;
  script->press(ImGuiKey_Tab);
  REQUIRE(tab_group_has_focus());
  script->press(ImGuiKey_RightArrow);
  script->press(ImGuiKey_Enter);
  CHECK(script->view().workspace->views.fit_map != map);
}

TEST_CASE("keyboard: the arrows do not step while they go through a table, and do again after Esc") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  go_to(*script, CenterView::what_if);
  REQUIRE(tab_to_group(*script));
  const std::int64_t step = script->view().lane().step;
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_RightArrow);
  CHECK(script->view().lane().step == step);
  script->press(ImGuiKey_Escape);
  script->press(ImGuiKey_RightArrow);
  CHECK(script->view().lane().step == step + 1);
}

TEST_CASE("keyboard: a row of What if is loaded by Enter, and any number of the GPU is chosen and typed") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  go_to(*script, CenterView::what_if);
  REQUIRE(tab_to_group(*script));
  bool changed = false;
  for (int row = 0; row < 6 && !changed; ++row) {
    script->press(ImGuiKey_DownArrow);
    script->press(ImGuiKey_Enter);
    changed = !same_numbers(script->view().requested->request.gpu, script->view().requested->gpu_base);
  }
  CHECK(changed);
  script->command(ResetSpecValue{});
  // The list of numbers, then the number's field.
  script->press(ImGuiKey_Escape);
  const float list = 220 * script->frame().theme().scale;
  REQUIRE(tab_to(*script, [&](const Rect& stop) { return std::abs(stop.width() - list) < 2; }));
  script->press(ImGuiKey_Enter);
  CHECK(ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel));
  script->press(ImGuiKey_Escape);
  script->press(ImGuiKey_Tab);
  REQUIRE(enters_field(*script));
  script->press(ImGuiKey_A, ImGuiMod_Ctrl);
  script->type("3 GB/s");
  script->press(ImGuiKey_Enter);
  CHECK_FALSE(same_numbers(script->view().requested->request.gpu, script->view().requested->gpu_base));
}

TEST_CASE("keyboard: the equal rows of Compare unfold") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_K);
  go_to(*script, CenterView::compare);
  script->command(SetAlgorithm{"standard"});
  REQUIRE_FALSE(shows(*script, "Hide equal rows"));
  const float low = 24 * script->frame().theme().scale;  // lower than a button
  const float rows = 0.3F * 720, transport = script->frame().layout().transport.min.y;
  REQUIRE(tab_to(*script,
                 [&](const Rect& stop) { return stop.center().y > rows && stop.center().y < transport && stop.height() < low; }));
  script->press(ImGuiKey_Enter);
  CHECK(shows(*script, "Hide equal rows"));
}

TEST_CASE("keyboard: a kernel of Validate is chosen alone, and a case opened") {
  const Result<GpuSpec> toy = load_gpu("toy");
  REQUIRE(static_cast<bool>(toy));
  Session::Start start = opening_start();
  start.measurements.bundles.push_back(
      std::make_shared<const KnownBundle>(KnownBundle{synthetic_bundle(*toy), "synthetic.json", false}));
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  go_to(*script, CenterView::validate);
  const std::size_t cases = script->view().measured.validation->bundle->bundle.cases.size();
  REQUIRE(cases > 1);
  REQUIRE(tab_to_group(*script));  // the kernels
  script->press(ImGuiKey_Enter);
  script->press(ImGuiKey_Enter);
  REQUIRE(tab_to_group(*script));  // the cases
  const std::string before = to_link(window_state_of(script->view()));
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Enter);
  CHECK(to_link(window_state_of(script->view())) != before);
}

TEST_CASE("keyboard: the map of Mask is walked block by block, zoomed with Shift, and Enter goes to the block's step") {
  Session::Start start = opening_start();
  start.request.problem.causal = true;
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  go_to(*script, CenterView::mask);
  const Rect stage = script->frame().layout().stage;
  REQUIRE(tab_to(*script, [&](const Rect& stop) { return tab_group_has_focus() && stop.height() > 0.3F * stage.height(); }));
  CHECK(shows(*script, "Tile i 0, j 0"));
  script->press(ImGuiKey_DownArrow);
  CHECK(shows(*script, "Tile i 1, j 0"));
  script->press(ImGuiKey_RightArrow);
  CHECK(shows(*script, "Tile i 1, j 1"));
  CHECK(script->view().workspace->views.mask.zoom == 1);
  script->press(ImGuiKey_UpArrow, ImGuiMod_Shift);
  CHECK(script->view().workspace->views.mask.zoom > 1);
  script->press(ImGuiKey_Enter);
  CHECK(script->view().workspace->center == CenterView::stage);
}

TEST_CASE("keyboard: Esc stops a study that runs, and leaves the view maximised; the next Esc does not") {
  Session::Start start = h200_start({.heads = 16, .kv_heads = 16, .seq_q = 4096, .seq_kv = 4096, .head_dim = 128});
  start.threads = true;
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  script->session().apply(SetAlone{"stage"});
  script->session().apply(SetCenter{CenterView::fit});
  for (int frame = 0; frame < 600 && !shows_running_study(); ++frame) {
    script->frame().build(script->width(), script->height(), 1.0 / 60);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(shows_running_study());
  script->press(ImGuiKey_Escape);
  CHECK(script->view().studies->stopped);
  CHECK_FALSE(script->view().workspace->alone.empty());
  script->press(ImGuiKey_Escape);
  CHECK(script->view().workspace->alone.empty());
}

TEST_CASE("keyboard: Alt and the arrows zoom and scroll the timeline, and step nothing") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  const std::int64_t step = script->view().lane().step;
  const std::string whole = text_of(*script), late = format_count(1800);
  REQUIRE(whole.find(late) != std::string::npos);  // a tick near the end of the run
  for (int i = 0; i < 5; ++i) script->press(ImGuiKey_UpArrow, ImGuiMod_Alt);
  const std::string zoomed = text_of(*script);
  CHECK(zoomed.find(late) == std::string::npos);
  // The zoom is in the link, and opens with it.
  const std::string link = to_link(window_state_of(script->view()));
  CHECK(link.find("time_window=") != std::string::npos);
  script->press(ImGuiKey_Home, ImGuiMod_Alt);
  CHECK(to_link(window_state_of(script->view())).find("time_window=") == std::string::npos);
  script->command(OpenLink{link});
  CHECK(to_link(window_state_of(script->view())) == link);
  CHECK_FALSE(shows(*script, late));
  for (int i = 0; i < 30; ++i) script->press(ImGuiKey_RightArrow, ImGuiMod_Alt);
  CHECK(shows(*script, late));
  for (int i = 0; i < 30; ++i) script->press(ImGuiKey_LeftArrow, ImGuiMod_Alt);
  CHECK_FALSE(shows(*script, late));
  script->press(ImGuiKey_DownArrow, ImGuiMod_Alt);
  script->press(ImGuiKey_Home, ImGuiMod_Alt);
  CHECK(text_of(*script) == whole);
  CHECK(script->view().lane().step == step);
}

TEST_CASE("keyboard: C shows why a step began no earlier, and a cause is gone to by the arrows and Enter") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_Home);
  for (int i = 0; i < 6; ++i) script->press(ImGuiKey_W);
  const std::int64_t stalled = script->view().lane().step;
  script->press(ImGuiKey_C);
  REQUIRE(shows(*script, "Stall, back to its first cause"));
  REQUIRE(tab_group_has_focus());
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_Enter);
  CHECK(script->view().lane().step != stalled);
  script->press(ImGuiKey_Escape);
  CHECK_FALSE(shows(*script, "Stall, back to its first cause"));
}

TEST_CASE("keyboard: a tile in HBM is reached by the arrows, tells what it is, and Enter goes to its next move") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_Home);
  REQUIRE(tab_to_group(*script));
  const Rect first = focused_tab_stop();
  CHECK(shows(*script, "go to its next move"));
  script->press(ImGuiKey_DownArrow);
  CHECK(focused_tab_stop().min.y > first.min.y);
  script->press(ImGuiKey_RightArrow);
  CHECK(focused_tab_stop().min.x > first.min.x);
  const double cycle = script->view().playback.cycle;
  script->press(ImGuiKey_Enter);
  CHECK(script->view().playback.cycle > cycle);
}

TEST_CASE("keyboard: the column of O is chosen in the panel of the row") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->command(SeekStep{20});
  REQUIRE(shows(*script, "O[0]"));
  const Rect panel = script->frame().layout().softmax;
  REQUIRE(tab_to(*script, [&](const Rect& stop) { return panel.contains(stop.center()) && stop.width() > 0.7F * panel.width(); }));
  script->press(ImGuiKey_Enter);
  CHECK(shows(*script, "O[1]"));
}
