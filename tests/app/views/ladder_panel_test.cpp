// The Ladder view: the code of the chosen rung, its marks, keys, buttons and its place in links and undo.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/measurements/clock_under_load.h"
#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/requests/assets.h"
#include "app/model/session/rung_code.h"
#include "app/model/state/window_state.h"
#include "app/ui/text_record.h"
#include "app/views/algorithm_style.h"
#include "sim/analysis/format.h"
#include "sim/analysis/tensor_bubbles.h"
#include "sim/programs/programs.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/views/panel_screen.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

namespace {

Session::Start ladder_start() {
  Session::Start start = opening_start();
  start.center = CenterView::ladder;
  return start;
}

View ladder_view(const SessionView& view) {
  View out;
  static_cast<SessionView&>(out) = view;
  return out;
}

std::optional<std::string> asked_rung(const std::vector<Command>& commands) {
  for (const Command& command : commands)
    if (const auto* set = std::get_if<SetRung>(&command)) return set->id;
  return std::nullopt;
}

std::optional<std::string> rung_after_key(PanelScreen& screen, const View& view, ImGuiKey key, bool shift = false) {
  ImGuiIO& io = ImGui::GetIO();
  io.AddKeyEvent(ImGuiMod_Shift, shift);
  io.AddKeyEvent(key, true);
  const auto rung = asked_rung(screen.frame(view, draw_ladder_panel));
  io.AddKeyEvent(key, false);
  io.AddKeyEvent(ImGuiMod_Shift, false);
  screen.frame(view, draw_ladder_panel);
  return rung;
}

std::string ladder_text(PanelScreen& screen, const View& view) {
  screen.frame(view, draw_ladder_panel);
  const TextRecording recording;
  screen.frame(view, draw_ladder_panel);
  return recording.text();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ladder panel: draws the code of every rung, in both themes, beside the bars and below them") {
  Opened opened(ladder_start());
  for (const ThemeKind theme : {ThemeKind::dark, ThemeKind::light})
    for (const ImVec2 size : {ImVec2{1600, 800}, ImVec2{1200, 500}, ImVec2{500, 700}}) {
      PanelScreen screen(size, theme);
      for (const LadderStep& step : ladder()) {
        CAPTURE(step.id);
        const View view = ladder_view(opened.after(SetRung{std::string(step.id)}));
        CHECK(screen.frame(view, draw_ladder_panel).empty());
        CHECK(screen.vertices() > 1000);
      }
    }
}

TEST_CASE("ladder panel: the code begins with what is new, marked, below the name of its file") {
  Opened opened(ladder_start());
  PanelScreen screen({1600, 900});
  const std::string without = ladder_text(screen, ladder_view(opened.view()));
  CHECK_FALSE(contains(without, "kernels/"));
  const std::string text = ladder_text(screen, ladder_view(opened.after(SetRung{"hopper_causal"})));
  CHECK(contains(text, "kernels/hopper_causal/tickets.cuh"));
  CHECK(contains(text, "57 lines, a new file"));
  CHECK(contains(text, "+\t// Tickets: query tiles drawn one at a time"));
  CHECK_FALSE(contains(text, "kernels/flash2"));
  const std::string first = ladder_text(screen, ladder_view(opened.after(SetRung{"flash2"})));
  CHECK(contains(first, "nothing is new"));
  CHECK(contains(first, "// Device code of flash2"));
  CHECK_FALSE(contains(first, "+\t//"));
  CHECK(contains(ladder_text(screen, ladder_view(opened.after(SetRung{"flash3"}))), "No kernel of its own"));
}

TEST_CASE("ladder panel: says of which problem its figures are, and what a change of time is compared with") {
  Opened opened(h200_start({.heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64}));
  PanelScreen screen({1600, 900});
  const std::string text = ladder_text(screen, ladder_view(opened.after(SetCenter{CenterView::ladder})));
  CHECK(contains(text, "B 1 H 8 N 512 d 64 fp16, no mask."));
  CHECK(contains(text, "Cycles vs base"));
  CHECK_FALSE(contains(text, "easured)"));  // nothing was measured of this problem, so no heading says so
  CHECK_FALSE(contains(text, "Measured\t"));
  CHECK(contains(text, "Few blocks: "));
  CHECK(contains(text, " on 32 of 132 SMs"));
  // FlashAttention-3 has no kernel of its own: it says which rung it is here.
  CHECK(contains(text, "Chooses a rung by head dimension, mask and length."));
  AttentionProblem causal = opened.view().requested->request.problem;
  causal.causal = true;
  const View view = ladder_view(opened.after(SetProblem{causal, "causal"}));
  CHECK(contains(ladder_text(screen, view), "fp16, causal."));
  // This rung is no program of the table by itself.
  CHECK(program_summary(**find_program("flash3"), causal).ends_with(" Here: Hopper 1, longest first."));
  CHECK(contains(ladder_text(screen, ladder_view(opened.after(SetRung{"hopper_causal"}))), "vs base"));
}

TEST_CASE("ladder panel: each rung says how long the tensor cores idle, and which idle time it cut against its base") {
  Opened opened(h200_start({.heads = 16, .kv_heads = 16, .seq_q = 2048, .seq_kv = 2048, .head_dim = 128}));
  const View view = ladder_view(opened.after(SetCenter{CenterView::ladder}));
  const auto softmax_of = [&](std::string_view id) {
    for (const LadderRung& rung : view.studies->ladder->rungs) {
      if (rung.algorithm != id) continue;
      SimulationRequest alone = view.studies->ladder->of;
      alone.algorithm = rung.algorithm;
      const auto simulation = simulate(at_clock(alone, view.studies->ladder->clock->hz));
      REQUIRE(simulation);
      CHECK(tensor_bubbles(**simulation, 0).idle == rung.tensor_idle);
      return rung.tensor_idle[static_cast<std::size_t>(BubbleCause::softmax)];
    }
    return 0.0;
  };
  CHECK(view.studies->ladder->rungs.front().tensor_idle == std::array<double, bubble_causes>{});  // flash2 has mma.sync
  const double producer = softmax_of("hopper_producer"), overlap = softmax_of("hopper_overlap");
  CHECK(overlap < producer);
  PanelScreen screen({1600, 900});
  const std::string text = ladder_text(screen, view);
  CHECK(contains(text, "Tensor cores idle"));
  CHECK(contains(text, fmt::format(", softmax {} → {}", format_percent(producer), format_percent(overlap))));
}

TEST_CASE("ladder panel: all rungs are at one clock, and measured ones rank by cycles whatever clocks they were measured at") {
  const AttentionProblem problem = {.heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
  Session::Start start = h200_start(problem);
  auto bundle = std::make_shared<KnownBundle>();
  bundle->bundle.gpu = "h200";
  const auto measure = [&](const char* kernel, double clock, double cycles) {
    MeasuredCase& measured = bundle->bundle.cases.emplace_back();
    measured.kernel = kernel;
    measured.problem = problem;
    measured.sm_clock_hz = clock;
    measured.tile = (*find_program(kernel))->default_tile(problem, *load_gpu("h200"));
    measured.cycles.median = cycles;
    measured.time_cold_ns.median = cycles / clock * 1e9;
  };
  measure("hopper_wgmma", 1.5e9, 15000);
  measure("hopper_producer", 1.7e9, 20000);
  measure("hopper_three_groups", 1.9e9, 16000);  // the least time, and not the fewest cycles
  start.measurements.bundles.push_back(bundle);
  Opened opened(std::move(start));
  const View view = ladder_view(opened.after(SetCenter{CenterView::ladder}));
  const LadderStudy& ladder = *view.studies->ladder;
  REQUIRE(ladder.clock);
  const double clock = ladder.clock->hz;
  CHECK(std::ranges::count(std::vector{1.5e9, 1.7e9, 1.9e9}, clock) ==
        1);  // that of a measured one: the others have no clock to borrow
  double flops = 0;
  for (const LadderRung& rung : ladder.rungs) {
    REQUIRE(rung.outcome);
    CHECK(rung.outcome->time_ns == doctest::Approx(rung.outcome->cycles / clock * 1e9));
    flops = rung.outcome->useful_flops;
  }
  PanelScreen screen({1600, 900});
  const std::string text = ladder_text(screen, view);
  // The rate is of the measured cycles at the clock of all rungs, not at the one of the measurement.
  CHECK(contains(text, fmt::format("Fewest cycles measured: {}, {:.0f} GFLOP/s at {}", algorithm_title("hopper_wgmma"),
                                   flops / 15000 * clock / 1e9, format_clock(clock))) !=
        contains(text, fmt::format("Fewest cycles measured: {}, {:.0f} TFLOP/s at {}", algorithm_title("hopper_wgmma"),
                                   flops / 15000 * clock / 1e12, format_clock(clock))));
  CHECK(contains(
      text, fmt::format("All rungs are at one clock, {}: that under load of {}, which has the fewest cycles at the highest clock.",
                        format_clock(clock), algorithm_title(ladder.clock->algorithm))));
  CHECK(contains(text, "at 1.50 GHz to 1.90 GHz, as a rate at that one clock."));
  // A rung that was measured alone is no winner.
  Session::Start lone = h200_start(problem);
  auto of_one = std::make_shared<KnownBundle>(*bundle);
  std::erase_if(of_one->bundle.cases, [](const MeasuredCase& each) { return each.kernel != "hopper_producer"; });
  lone.measurements.bundles.push_back(of_one);
  Opened with_one(std::move(lone));
  const std::string of_lone = ladder_text(screen, ladder_view(with_one.after(SetCenter{CenterView::ladder})));
  CHECK(contains(of_lone, "Slim bars: "));
  CHECK_FALSE(contains(of_lone, "Fewest cycles measured"));
  CHECK_FALSE(contains(text, "SM clock"));
  CHECK_FALSE(contains(text, "1.98 GHz"));
}

TEST_CASE("ladder panel: a recording of FlashAttention-3 itself goes before that of the rung that it launches") {
  const AttentionProblem problem = {.heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
  Measurements known;
  auto bundle = std::make_shared<KnownBundle>();
  bundle->bundle.gpu = "h200";
  bundle->bundle.cases.resize(2);
  for (MeasuredCase& each : bundle->bundle.cases) each.problem = problem;
  bundle->bundle.cases[0].kernel = "hopper_wgmma";
  bundle->bundle.cases[1].kernel = "flash3";
  known.bundles.push_back(bundle);
  const GpuSpec gpu = *load_gpu("h200");
  CHECK(find_case_in_any_tile(known, gpu, "flash3", problem) == &bundle->bundle.cases[1]);
  CHECK(find_case_in_any_tile(known, gpu, "hopper_wgmma", problem) == &bundle->bundle.cases[0]);
  bundle->bundle.cases.pop_back();
  CHECK(find_case_in_any_tile(known, gpu, "flash3", problem) == &bundle->bundle.cases[0]);
}

TEST_CASE("ladder panel: predicted rates have the error of recorded runs beside them") {
  Session::Start start = h200_start({.heads = 16, .kv_heads = 16, .seq_q = 4096, .seq_kv = 4096, .head_dim = 128});
  start.measurements = load_measurements_of("h200");
  start.center = CenterView::ladder;
  Opened opened(std::move(start));
  PanelScreen screen({1600, 900});
  const View view = ladder_view(opened.view());
  const LadderStudy& study = *view.studies->ladder;
  SimulationRequest request = study.of;
  request.algorithm = "flash2";
  const auto errors = time_errors_of(*view.measured.known, predicted(request, *study.rungs.front().outcome));
  REQUIRE(errors);
  CHECK(contains(ladder_text(screen, view), " ±" + format_percent(errors->mean)));
}

TEST_CASE("ladder panel: arrows choose the rung, and Shift with them scrolls its code") {
  Opened opened(ladder_start());
  PanelScreen screen({1600, 600});
  View view = ladder_view(opened.view());
  screen.frame(view, draw_ladder_panel);
  CHECK(rung_after_key(screen, view, ImGuiKey_DownArrow) == "flash2");
  CHECK(rung_after_key(screen, view, ImGuiKey_UpArrow) == "flash3");
  view = ladder_view(opened.after(SetRung{"hopper_wgmma"}));
  CHECK(rung_after_key(screen, view, ImGuiKey_DownArrow) == "hopper_producer");
  CHECK(rung_after_key(screen, view, ImGuiKey_UpArrow) == "flash2");
  const std::string top = ladder_text(screen, view);
  CHECK_FALSE(rung_after_key(screen, view, ImGuiKey_DownArrow, true).has_value());
  CHECK(ladder_text(screen, view) != top);
  CHECK_FALSE(rung_after_key(screen, view, ImGuiKey_UpArrow, true).has_value());
  CHECK(ladder_text(screen, view) == top);
  view = ladder_view(opened.after(SetRung{"flash2"}));
  CHECK_FALSE(rung_after_key(screen, view, ImGuiKey_UpArrow).has_value());
  view = ladder_view(opened.after(SetRung{"flash3"}));
  CHECK_FALSE(rung_after_key(screen, view, ImGuiKey_DownArrow).has_value());
}

TEST_CASE("ladder panel: a click chooses a rung, another one closes it; its buttons step through it and copy it") {
  Opened opened(ladder_start());
  PanelScreen screen({1600, 800});
  View view = ladder_view(opened.view());
  screen.frame(view, draw_ladder_panel);
  std::optional<ImVec2> place;
  for (float y = 60; y < 790 && !place; y += 10)
    if (asked_rung(screen.click(view, draw_ladder_panel, {60, y})) == "hopper_overlap") place = ImVec2(60, y);
  REQUIRE(place);
  view = ladder_view(opened.after(SetRung{"hopper_overlap"}));
  std::optional<std::string> other;
  bool closed = false, stepped = false, copied = false;
  for (float y = 4; y < 790; y += 8)
    for (const float x : {60.0F, 900.0F, 1000.0F, 1100.0F, 1200.0F, 1300.0F, 1400.0F, 1470.0F, 1500.0F, 1530.0F, 1575.0F}) {
      ImGui::SetClipboardText("");
      const auto commands = screen.click(view, draw_ladder_panel, {x, y});
      const auto rung = asked_rung(commands);
      closed = closed || (x == 60 && rung == "");
      for (const Command& command : commands)
        if (const auto* set = std::get_if<SetAlgorithm>(&command)) stepped = stepped || set->id == "hopper_overlap";
      copied = copied || rung_code("hopper_overlap").text() == ImGui::GetClipboardText();
    }
  CHECK(closed);
  CHECK(stepped);
  CHECK(copied);
}

TEST_CASE("ladder panel: a click on the heading of a file folds and unfolds it") {
  Opened opened(ladder_start());
  PanelScreen screen({1600, 800});
  const View view = ladder_view(opened.after(SetRung{"hopper_ping_pong"}));
  const auto has_turns = [&] { return contains(ladder_text(screen, view), "struct PingPong {"); };
  CHECK(has_turns());
  std::optional<ImVec2> heading;
  for (float y = 20; y < 200 && !heading; y += 5) {
    screen.click(view, draw_ladder_panel, {900, y});
    if (!has_turns()) heading = ImVec2(900, y);
  }
  REQUIRE(heading);
  screen.click(view, draw_ladder_panel, *heading);
  CHECK(has_turns());
}

TEST_CASE("ladder panel: the chosen rung is in the link, and undo takes it back") {
  const auto state = from_link("view=ladder&rung=hopper_causal");
  REQUIRE(static_cast<bool>(state));
  CHECK(state->rung == "hopper_causal");
  CHECK(to_link(*state) == "view=ladder&rung=hopper_causal");
  CHECK_FALSE(static_cast<bool>(from_link("rung=standard")));
  Opened opened(ladder_start());
  CHECK(opened.after(SetRung{"hopper_producer"}).workspace->rung == "hopper_producer");
  CHECK(opened.after(SetRung{"standard"}).workspace->rung == "hopper_producer");
  CHECK(opened.after(Undo{}).workspace->rung.empty());
  CHECK(opened.after(Redo{}).workspace->rung == "hopper_producer");
}

TEST_CASE("ladder panel: the key 0 shows it from any view") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  REQUIRE(script->view().workspace->center == CenterView::stage);
  script->press(ImGuiKey_0);
  CHECK(script->view().workspace->center == CenterView::ladder);
  script->press(ImGuiKey_1);
  CHECK(script->view().workspace->center == CenterView::stage);
}

TEST_CASE("ladder panel: in the window the arrows choose rungs, not rows, and Tab and Enter reach a rung") {
  const auto script = WindowScript::open(ladder_start(), 1280, 720);
  if (script == nullptr) return;
  const int row = script->view().workspace->row;
  script->press(ImGuiKey_DownArrow);
  script->press(ImGuiKey_DownArrow);
  CHECK(script->view().workspace->rung == "hopper_wgmma");
  CHECK(script->view().workspace->row == row);
  script->press(ImGuiKey_Escape);
  CHECK(script->view().workspace->rung.empty());
  script->press(ImGuiKey_UpArrow);
  CHECK(script->view().workspace->rung == "flash3");
  constexpr int most_stops = 60;
  bool is_pressed = false;
  for (int stop = 0; stop < most_stops && !is_pressed; ++stop) {
    script->press(ImGuiKey_Tab);
    const std::string before = to_link(window_state_of(script->view()));
    script->press(ImGuiKey_Enter);
    if (ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) script->press(ImGuiKey_Escape);
    is_pressed = script->view().workspace->rung == "flash2";
    if (!is_pressed && to_link(window_state_of(script->view())) != before) script->command(Undo{});
  }
  CHECK(is_pressed);
}

}  // namespace tilescope
