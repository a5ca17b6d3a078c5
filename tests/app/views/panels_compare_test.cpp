// The Compare view: what it says is what the two simulations say, and it draws at any size.
#include <optional>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/model/measurements/ratio_errors.h"
#include "app/model/measurements/time_errors.h"
#include "app/model/requests/assets.h"
#include "app/model/state/window_state.h"
#include "app/views/compare/compare_sheet.h"
#include "app/views/compare/run_bars.h"
#include "sim/analysis/format.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/run_simulation.h"
#include "tests/app/views/panel_screen.h"

using namespace tilescope;

namespace {

const CompareRow* row_named(const CompareSheet& sheet, std::string_view name) {
  for (const CompareSection& section : sheet.sections)
    for (const auto* rows : {&section.differing, &section.equal})
      for (const CompareRow& row : *rows)
        if (row.name == name) return &row;
  return nullptr;
}

ImGuiID item_id(std::string_view window_part, const char* label) {
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->WasActive && std::string_view(window->Name).find(window_part) != std::string_view::npos)
      return ImHashStr(label, 0, window->ID);
  return 0;
}

/// The first place of the middle panel, row by row, where the pointer is over item `id`.
std::optional<ImVec2> place_of(WindowScript& script, ImGuiID id) {
  const Rect area = script.frame().layout().alone;
  for (float y = area.min.y + 4; y < area.max.y; y += 9)
    for (float x = area.min.x + 12; x < area.max.x; x += 24) {
      script.hover(x, y);
      if (ImGui::GetCurrentContext()->HoveredId == id) return ImVec2(x, y);
    }
  return std::nullopt;
}

}  // namespace

TEST_CASE("run bars: a run is named by what tells it from the others") {
  const auto named = [](std::vector<std::shared_ptr<const Simulation>> simulations) {
    std::vector<PageRun> runs;
    for (auto& simulation : simulations) runs.push_back({std::move(simulation), std::nullopt});
    return distinct_names(runs);
  };
  AttentionProblem two = {}, causal = {};
  two.heads = two.kv_heads = 2;
  causal.causal = true;
  CHECK(named({run("flash2"), run("standard")}) == std::vector<std::string>{"FlashAttention-2", "Standard attention"});
  CHECK(named({run("flash2"), run("flash2", toy_gpu(), two)}) == std::vector<std::string>{"H 1", "H 2"});
  CHECK(named({run("flash2"), run("flash2", toy_gpu(), causal)}) == std::vector<std::string>{"no mask", "causal mask"});
  CHECK(named({run("flash2")}) == std::vector<std::string>{"FlashAttention-2"});
  // The first has all settings that differ anywhere, each other one those in which it differs from the first.
  CHECK(named({run("flash2"), run("flash2", toy_gpu(), two), run("flash2", toy_gpu(), causal)}) ==
        std::vector<std::string>{"H 1, no mask", "H 2", "causal mask"});
}

TEST_CASE("compare view: rows say what both simulations say, and equal ones are folded") {
  Opened opened;
  opened.after(PinRun{});
  const auto pinned = opened.view().lane().simulation;
  opened.after(SetCenter{CenterView::compare});
  for (const CompareSection& section : compare_sheet(*opened.view().pinned.comparison).sections) CHECK(section.differing.empty());
  opened.after(SetAlgorithm{"standard"});
  const auto present = opened.view().lane().simulation;
  const CompareSheet sheet = compare_sheet(*opened.view().pinned.comparison);
  const CompareRow* time = row_named(sheet, "Time");
  REQUIRE(time != nullptr);
  CHECK(time->first == format_time(pinned->time));
  CHECK(time->second == format_time(present->time));
  const CompareRow* scores = row_named(sheet, "S, SM→L2");
  REQUIRE(scores != nullptr);
  CHECK(scores->first == "0 B");
  CHECK(scores->second.ends_with("B"));
  CHECK(scores->tone == CompareRow::Tone::worse);
  CHECK(row_named(sheet, "Algorithm")->second == "Standard attention");
  CHECK(sheet.sections.front().equal_count() > 10);
  CHECK(sheet.finding.find(format_time(pinned->time)) != std::string::npos);
}

TEST_CASE("compare view: a unit is busy with another group where the SM has one block of warps with roles") {
  Session::Start start = h200_start({.heads = 4, .kv_heads = 4, .seq_q = 1024, .seq_kv = 1024, .head_dim = 128});
  start.request.algorithm = "hopper_ping_pong";
  Opened opened(std::move(start));
  REQUIRE(opened.view().lane().simulation->launches.front().blocks_per_sm == 1);
  opened.after(PinRun{});
  opened.after(SetCenter{CenterView::compare});
  const auto has = [&](std::string_view name) {
    return row_named(compare_sheet(*opened.view().pinned.comparison), name) != nullptr;
  };
  CHECK(has("tensor cores, busy with another group"));
  CHECK_FALSE(has("tensor cores, busy with another block"));
  opened.after(SetAlgorithm{"flash2"});
  CHECK_FALSE(has("tensor cores, busy with another group"));
  CHECK(has("tensor cores, busy with another block or group"));
}

TEST_CASE("compare view: times that read the same are one figure, and figures that differ never read the same") {
  const Opened opened;
  const auto run = opened.view().lane().simulation;
  auto slower = std::make_shared<Simulation>(*run);
  slower->time = Nanoseconds(run->time.value * 1.0004);
  const RunComparison comparison = compare_runs(run, slower);
  const CompareSheet sheet = compare_sheet(comparison);
  CHECK(sheet.finding.starts_with("Same time: 1.97 µs. "));
  for (const CompareSection& section : sheet.sections)
    for (const CompareRow& row : section.differing) CHECK(row.first != row.second);
}

TEST_CASE("compare view: the headline has the error of the ratio, or says that it is unknown where runs of the GPU are recorded") {
  const Measurements known = load_measurements_of("h100");
  const GpuSpec h100 = *load_gpu("h100");
  const AttentionProblem problem = {
      .heads = 16, .kv_heads = 16, .seq_q = 2048, .seq_kv = 2048, .head_dim = 128, .dtype = DataType::fp16};
  const auto first = run("hopper_wgmma", h100, problem), second = run("hopper_ping_pong", h100, problem);
  const auto errors = ratio_errors_of(known, predicted(*first), predicted(*second));
  REQUIRE(errors);
  const RunComparison comparison = compare_runs(first, second);
  const std::string finding = compare_sheet(comparison, known).finding;
  CHECK(finding.find(fmt::format(" (±{}): ", format_percent(errors->mean))) != std::string::npos);
  for (const auto& simulation : {first, second}) {
    const auto of_time = time_errors_of(known, predicted(*simulation));
    REQUIRE(of_time);
    CHECK(finding.find(fmt::format("{} ±{}", format_time(simulation->time), format_percent(of_time->mean))) != std::string::npos);
  }
  CHECK(compare_sheet(comparison).finding.find('(') == std::string::npos);
  // Nothing is recorded of two tiles of one program.
  SimulationRequest other = second->request;
  other.tile = ProgramTile(128, 64);
  const auto tile = simulate(other);
  REQUIRE(tile);
  CHECK(compare_sheet(compare_runs(second, *tile), known).finding.find(" (error unknown): ") != std::string::npos);
}

TEST_CASE("compare view: K pins, any two runs are compared, a button swaps them, and it draws at any size") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::compare});
  script->press(ImGuiKey_K);
  REQUIRE(script->view().pinned.runs.size() == 1);
  script->command(SetAlgorithm{"standard"});
  script->press(ImGuiKey_K);
  script->command(SetAlgorithm{"flash1"});
  const auto compared = [&] {
    REQUIRE(script->view().pinned.comparison != nullptr);
    const RunComparison& comparison = *script->view().pinned.comparison;
    return comparison.first->request.algorithm + " " + comparison.second->request.algorithm;
  };
  CHECK(compared() == "standard flash1");
  script->command(CompareRuns{{1, 2}});
  CHECK(compared() == "flash2 standard");

  const ImGuiID swap = item_id("/compare_", "Swap");
  const auto button = place_of(*script, swap);
  REQUIRE(button);
  script->click(button->x, button->y);
  CHECK(compared() == "standard flash2");
  CHECK(script->view().lane().simulation->request.algorithm == "flash1");
  for (const auto& [width, height] : {std::pair{2560, 1440}, {1600, 900}, {640, 400}, {200, 120}}) script->resize(width, height);
}

TEST_CASE("compare view: without a pinned run, one press pins the run on screen and makes a second one") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::compare});
  const auto press = [&](const char* label) {
    const auto button = place_of(*script, item_id("/compare_", label));
    REQUIRE(button);
    script->click(button->x, button->y);
    REQUIRE(script->view().pinned.comparison != nullptr);
    return *script->view().pinned.comparison;
  };
  const RunComparison other_kernel = press("Standard attention");
  CHECK(other_kernel.first->request.algorithm == "flash2");
  CHECK(other_kernel.second->request.algorithm == "standard");

  script->command(UnpinRun{});
  const RunComparison longer = press("Twice the queries and keys");
  CHECK(longer.second->request.problem.seq_q == 2 * longer.first->request.problem.seq_q);
  CHECK(longer.second->request.problem.seq_kv == 2 * longer.first->request.problem.seq_kv);
}

TEST_CASE("pinned run: every view about a whole run shows it, and how the run on screen differs") {
  Opened opened;
  opened.after(PinRun{});
  opened.after(SetTile{ProgramTile(8, 16), "block_q"});
  PanelScreen screen({1600, 700});
  const auto text_of = [&](CenterView center, DrawPanel draw) {
    View view;
    static_cast<SessionView&>(view) = opened.after(SetCenter{center});
    return screen.text(view, draw);
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  const std::pair<CenterView, DrawPanel> marked[] = {{CenterView::roofline, draw_roofline_panel},
                                                     {CenterView::what_if, draw_what_if_panel},
                                                     {CenterView::fit, draw_fit_panel},
                                                     {CenterView::sweep, draw_sweep_panel},
                                                     {CenterView::stage, draw_timeline_panel}};
  for (const auto& view : marked) {
    INFO("view ", static_cast<int>(view.first));
    CHECK(has(text_of(view.first, view.second), "Pinned 1"));
  }
  CHECK(has(text_of(CenterView::stage, draw_traffic_panel), "vs pinned 1"));
  // Its time in the timeline has its clock.
  const Simulation& pinned = *opened.view().pinned.beside->timed->second;
  CHECK(has(text_of(CenterView::stage, draw_timeline_panel),
            fmt::format("FlashAttention-2: {} at {}", format_time(pinned.time), format_clock(pinned.request.gpu.sm_clock_hz))));
  for (const auto& view : {marked[0], marked[1], marked[2], marked[3]}) {
    INFO("view ", static_cast<int>(view.first));
    CHECK(has(text_of(view.first, view.second), "Against pinned 1 (FlashAttention-2"));
  }
  CHECK(has(text_of(CenterView::banks, draw_banks_panel), "bank"));
  CHECK_FALSE(has(text_of(CenterView::banks, draw_banks_panel), "inned 1"));  // a warp's access is that of no run
  // The roofs and the tiles that fit are those of the GPU on screen: a run of another has no place there.
  opened.after(SetGpu{"h200"});
  for (const auto& view : {marked[0], marked[2]}) {
    INFO("view ", static_cast<int>(view.first));
    const std::string text = text_of(view.first, view.second);
    CHECK_FALSE(has(text, "Pinned 1"));
    CHECK(has(text, "Against pinned 1 (FlashAttention-2"));
  }
  opened.after(SetRace{true});
  CHECK(has(text_of(CenterView::stage, draw_race_panel), "FlashAttention-2 against pinned 1"));
  opened.after(UnpinRun{});
  CHECK_FALSE(has(text_of(CenterView::roofline, draw_roofline_panel), "inned 1"));
}
