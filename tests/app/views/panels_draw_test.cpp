// The listing, softmax, traffic and timeline panels drawn without a display: every program, and what a mouse over them asks for.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "app/model/run_data/step_index.h"
#include "app/model/run_data/tile_accesses.h"
#include "app/ui/panel_state.h"
#include "app/views/panels.h"
#include "app/views/softmax/softmax_figures.h"
#include "app/views/timeline/timeline_picture.h"
#include "sim/programs/attention_tensors.h"
#include "tests/app/run_simulation.h"
#include "tests/app/views/panel_screen.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

constexpr std::array<DrawPanel, 4> panels = {draw_listing_panel, draw_softmax_panel, draw_traffic_panel, draw_timeline_panel};

/// A view of one simulation at a step, as the session would make it.
struct Showing {
  InputSource inputs;
  Requested requested;
  Workspace workspace;
  BlockOperations operations;
  std::vector<Lane> lanes = std::vector<Lane>(1);
  View view;

  Showing(std::shared_ptr<const Simulation> simulation, std::int64_t step, bool values = true) {
    Lane& lane = lanes.front();
    lane.simulation = std::move(simulation);
    const Trace& trace = *lane.simulation->trace;
    lane.focus_sm = trace.focused_sms().front();
    lane.timeline = std::make_shared<const TimelineData>(
        make_timeline(*lane.simulation, std::make_shared<const StepIndex>(make_step_index(*lane.simulation, lane.focus_sm))));
    lane.step = step;
    lane.step_count = trace.step_count(lane.focus_sm);
    lane.state = lane.rest = trace.state_at(lane.focus_sm, step);
    lane.values_op = lane.rest.op;
    if (lane.rest.run >= 0) {
      const BlockRun& block = trace.runs()[static_cast<std::size_t>(lane.rest.run)];
      lane.simulation->program->emit_block(block.launch, block.block, operations);
      lane.operations = &operations;
      lane.operation = &operations.operations[static_cast<std::size_t>(lane.rest.op)];
      lane.tile_accesses = std::make_shared<const TileAccesses>(*lane.simulation, operations.domain.plane);
      if (values) {
        lane.history = *run_block(*lane.simulation->program, inputs, block.launch, block.block);
        lane.reference = std::make_shared<const ReferencePlane>(*lane.simulation->program, inputs, operations.domain.plane);
      }
    }
    view.lanes = lanes;
    view.playback.cycle = lane.state.cycle;
    workspace.row = 3;
    view.requested = &requested;
    view.workspace = &workspace;
  }
  Showing(const Showing&) = delete;
  Showing& operator=(const Showing&) = delete;
  const Lane& lane() const { return lanes.front(); }
};

template <class T>
std::vector<T> of_kind(const std::vector<Command>& commands) {
  std::vector<T> found;
  for (const Command& command : commands)
    if (const T* one = std::get_if<T>(&command)) found.push_back(*one);
  return found;
}

}  // namespace

TEST_CASE("panels: every panel draws every program at its key steps, with and without values, narrow and wide") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(std::string(info.id));
    const auto simulation = run(info.id);
    const std::int64_t last = simulation->trace->step_count(simulation->trace->focused_sms().front());
    for (const ImVec2 size : {ImVec2{240, 200}, ImVec2{420, 620}, ImVec2{1264, 150}}) {
      PanelScreen screen(size, size.x < 300 ? ThemeKind::light : ThemeKind::dark);
      for (const std::int64_t step : {std::int64_t{0}, std::int64_t{1}, last / 3, last / 2, last})
        for (const bool values : {false, true}) {
          Showing showing(simulation, step, values);
          for (const DrawPanel draw : panels) {
            CHECK(screen.frame(showing.view, draw).empty());
            CHECK(screen.vertices() > 0);
          }
        }
    }
  }
}

TEST_CASE("panels: random mouse input pushes only valid commands") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto chance = [&random](double share) { return std::uniform_real_distribution(0.0, 1.0)(random) < share; };
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(std::string(info.id));
    const auto simulation = run(info.id);
    const std::int64_t last = simulation->trace->step_count(simulation->trace->focused_sms().front());
    for (const DrawPanel draw : panels) {
      const ImVec2 size = draw == draw_timeline_panel ? ImVec2{1000, 160} : ImVec2{300, 400};
      PanelScreen screen(size);
      for (int i = 0; i < 60; ++i) {
        Showing showing(simulation, std::uniform_int_distribution<std::int64_t>(0, last)(random));
        screen.mouse({std::uniform_real_distribution(-20.0F, size.x + 20)(random),
                      std::uniform_real_distribution(-20.0F, size.y + 20)(random)});
        screen.button(0, chance(0.4));
        screen.button(1, chance(0.2));
        if (chance(0.3)) screen.wheel(std::uniform_real_distribution(-3.0F, 3.0F)(random));
        for (const Command& command : screen.frame(showing.view, draw)) {
          if (const auto* seek = std::get_if<SeekStep>(&command)) CHECK((seek->step >= 1 && seek->step <= last));
          if (const auto* seek = std::get_if<SeekCycle>(&command))
            CHECK((seek->cycle >= 0 && seek->cycle <= simulation->trace->end_cycle()));
          if (const auto* row = std::get_if<SelectRow>(&command))
            CHECK((row->row >= 0 && row->row < simulation->program->tile().block_q));
          if (const auto* other = std::get_if<SetAlgorithm>(&command)) CHECK(find_program(other->id));
        }
      }
    }
  }
}

TEST_CASE("listing: where the loop begins again, the step says so, with its round") {
  PanelScreen screen({420, 700});
  const auto simulation = run("flash2");
  int rounds = 0;
  for (std::int64_t step = 1; step <= simulation->trace->step_count(0); ++step) {
    const Showing showing(simulation, step);
    const std::vector<Operation>& block = showing.operations.operations;
    const auto at = static_cast<std::size_t>(showing.lanes.front().rest.op);
    const bool begins = at > 0 && block[at].iteration > 0 && block[at].iteration < showing.operations.iterations &&
                        block[at].iteration == block[at - 1].iteration + 1;
    const std::string text = screen.text(showing.view, &draw_listing_panel);
    CAPTURE(step);
    CHECK((text.find("Back to the top of the loop") != std::string::npos) == begins);
    if (begins) CHECK(text.find(fmt::format("round {} of", block[at].iteration + 1)) != std::string::npos);
    rounds += begins ? 1 : 0;
  }
  CHECK(rounds > 0);
}

TEST_CASE("listing: clicking a line goes to its next step, wrapping to the first") {
  const auto simulation = run("flash2");
  const Trace& trace = *simulation->trace;
  const int sm = trace.focused_sms().front();
  const auto labels = make_step_index(*simulation, sm);
  for (int line = 1; line <= static_cast<int>(simulation->info->listing.size()); ++line) {
    for (std::int64_t from = 0; from <= trace.step_count(sm); ++from) {
      std::int64_t expected = -1;
      for (std::int64_t k = 1; k <= trace.step_count(sm); ++k) {  // the order in which a walk from `from` meets the steps
        const std::int64_t step = (from + k - 1) % trace.step_count(sm) + 1;
        const TraceState state = trace.state_at(sm, step);
        BlockOperations block;
        const BlockRun& at = trace.runs()[static_cast<std::size_t>(state.run)];
        simulation->program->emit_block(at.launch, at.block, block);
        if (block.operations[static_cast<std::size_t>(state.op)].line != line) continue;
        expected = step;
        break;
      }
      REQUIRE(next_step_on_line(labels, from, line) == expected);
    }
  }
}

TEST_CASE("listing: clicking down the panel reaches the lines in order") {
  const auto simulation = run("flash2");
  PanelScreen screen({300, 700});
  std::vector<int> lines;
  for (float y = 40; y < 480; y += 6) {
    Showing showing(simulation, 1);
    for (const SeekStep& seek : of_kind<SeekStep>(screen.click(showing.view, draw_listing_panel, {150, y}))) {
      const Showing there(simulation, seek.step, false);
      const int line = there.lane().operation->line;
      if (lines.empty() || lines.back() != line) lines.push_back(line);
    }
  }
  CHECK(std::is_sorted(lines.begin(), lines.end()));
  CHECK(lines.size() >= 12);
}

TEST_CASE("step index: steps follow the end of their operations, for every program") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(std::string(info.id));
    const auto simulation = run(info.id);
    const Trace& trace = *simulation->trace;
    for (const int sm : trace.focused_sms()) {
      const auto intervals = trace.intervals(sm);
      REQUIRE(static_cast<std::int64_t>(intervals.size()) == trace.step_count(sm));
      std::vector<bool> taken(intervals.size());
      for (std::size_t interval = 0; interval < intervals.size(); ++interval) {
        const std::int64_t step = trace.step_of_interval(sm, interval);
        REQUIRE((step >= 1 && step <= trace.step_count(sm)));
        REQUIRE(!taken[static_cast<std::size_t>(step) - 1]);
        taken[static_cast<std::size_t>(step) - 1] = true;
        const TraceState state = trace.state_at(sm, step);
        REQUIRE(intervals[interval].op == state.op);
        REQUIRE(intervals[interval].run == state.run);
      }
    }
  }
}

TEST_CASE("traffic: hovering a row highlights its tensor once; leaving ends it") {
  const Showing showing(run("flash2"), 20);
  PanelScreen screen({340, 420});
  std::vector<Tensor> lit;
  for (float y = 0; y < 420; y += 3) {
    screen.mouse({60, y});
    screen.frame(showing.view, draw_traffic_panel);
    for (const HoverTensor& hover : of_kind<HoverTensor>(screen.frame(showing.view, draw_traffic_panel)))
      if (hover.tensor && (lit.empty() || lit.back() != *hover.tensor)) lit.push_back(*hover.tensor);
  }
  CHECK(lit == std::vector<Tensor>{tensors::q, tensors::k, tensors::v, tensors::o, tensors::lse});
  View view = showing.view;
  Workspace lit_workspace = showing.workspace;
  lit_workspace.hovered_tensor = tensors::k;
  view.workspace = &lit_workspace;
  screen.mouse({60, 410});
  screen.frame(view, draw_traffic_panel);
  const auto out = of_kind<HoverTensor>(screen.frame(view, draw_traffic_panel));
  REQUIRE(out.size() == 1);
  CHECK(!out.front().tensor);
}

TEST_CASE("softmax: plus and minus choose the row and stop at the tile's edges") {
  Showing showing(run("flash2"), 20);
  const auto rows_asked = [&](int row) {
    showing.workspace.row = row;
    PanelScreen screen({320, 300});
    std::vector<int> rows;
    for (float x = 200; x < 320; x += 4)
      for (const SelectRow& select : of_kind<SelectRow>(screen.click(showing.view, draw_softmax_panel, {x, 14})))
        rows.push_back(select.row);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  };
  CHECK(rows_asked(5) == std::vector<int>{4, 6});
  CHECK(rows_asked(0) == std::vector<int>{1});
  CHECK(rows_asked(15) == std::vector<int>{14});
}

TEST_CASE("softmax: values follow the step, the row and the inputs") {
  const auto simulation = run("flash2");
  SoftmaxReader reader;
  const std::int64_t last = simulation->trace->step_count(0);
  int compared = 0;
  for (std::int64_t step = 1; step <= last; ++step) {
    const Showing showing(simulation, step);
    for (const int row : {0, 7, 15}) {
      const SoftmaxFigures& figures = reader.read(showing.lane(), row);
      const SoftmaxRow fresh = softmax_row(*simulation->program, *showing.lane().history, showing.lane().rest.op, row);
      REQUIRE(figures.known);
      CHECK(figures.row.row == row);
      CHECK(figures.row.m_old == fresh.m_old);
      CHECK(figures.row.m_new == fresh.m_new);
      CHECK(figures.row.alpha == fresh.alpha);
      CHECK(figures.row.l_new == fresh.l_new);
      CHECK(figures.bars.size() == 64);
      CHECK(figures.current_end - figures.current_begin <= 16);
      CHECK(figures.checked);
      if (figures.row.output_error) CHECK(*figures.row.output_error < 5e-3);
      compared += figures.row.output_error.has_value();
      for (const RowScore& score : fresh.scores) CHECK(figures.bars[static_cast<std::size_t>(score.key)] == score.value);
    }
  }
  CHECK(compared > 10);
}

TEST_CASE("softmax: without values the rows keep their positions") {
  const auto simulation = run("flash2");
  PanelScreen with({320, 300}), without({320, 300});
  const Showing known(simulation, 25), unknown(simulation, 25, false);
  SoftmaxReader reader, other;
  const SoftmaxParts a = reader.read(known.lane(), 3).parts, b = other.read(unknown.lane(), 3).parts;
  CHECK(a.maximum == b.maximum);
  CHECK(a.scale == b.scale);
  CHECK(a.sum == b.sum);
  CHECK(a.output == b.output);
  CHECK(a.bars == b.bars);
}

TEST_CASE("timeline: dragging seeks to the cycle under the mouse, and the wheel zooms there") {
  const Showing showing(run("flash2"), 10);
  const double end = showing.lane().simulation->trace->end_cycle();
  PanelScreen screen({1000, 160});
  const auto cycle_at = [&](float x) {
    screen.mouse({x, 80});
    for (int i = 0; i < 3; ++i)
      screen.frame(showing.view, draw_timeline_panel);  // a new window is hovered from its second frame on
    screen.button(0, true);
    const auto seeks = of_kind<SeekCycle>(screen.frame(showing.view, draw_timeline_panel));
    screen.button(0, false);
    screen.frame(showing.view, draw_timeline_panel);
    for (int i = 0; i < 40; ++i) screen.frame(showing.view, draw_timeline_panel);  // so that two clicks are not a double click
    REQUIRE(seeks.size() == 1);
    return seeks.front().cycle;
  };
  const double left = cycle_at(300), right = cycle_at(900);
  CHECK(left > 0);
  CHECK(right > left);
  CHECK(right < end);
  screen.mouse({300, 80});
  screen.wheel(5);
  screen.frame(showing.view, draw_timeline_panel);
  CHECK(cycle_at(300) == doctest::Approx(left).epsilon(1e-6));
  CHECK(cycle_at(900) - left < 0.5 * (right - left));
}

TEST_CASE("timeline: a row has at most two quads per pixel, however many intervals there are") {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = 4;
  problem.seq_q = problem.seq_kv = 2048;
  const auto simulation = run("flash2", toy_gpu(), problem);
  const auto data = std::make_shared<const TimelineData>(
      make_timeline(*simulation, std::make_shared<const StepIndex>(make_step_index(*simulation, 0))));
  REQUIRE(simulation->trace->intervals(0).size() > 100000);
  const PanelScreen screen({1600, 160});
  const TimelineLayout layout = lay_out_timeline({{0, 0}, {1600, 150}}, {1, 4, false, 100, 1});
  for (const double zoom : {1.0, 0.1, 0.01, 0.001}) {
    const TimeWindow window = zoom_at(fit(data->end), data->end * 0.4, zoom);
    const auto picture =
        make_timeline_picture(screen.theme(), layout, window, std::array{data}, std::array{simulation}, std::nullopt);
    CHECK(picture.quads->size() > 100);
    CHECK(static_cast<float>(picture.quads->size()) <= 2 * layout.plot.width() * static_cast<float>(layout.rows.size()));
  }
}
