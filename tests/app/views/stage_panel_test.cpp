// The stage and race panels, drawn without a display: every program, every GPU, both themes; what a mouse over them asks for.
#include <doctest/doctest.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "app/ui/panel_state.h"
#include "app/ui/text_record.h"
#include "app/views/panels.h"
#include "app/views/stage/flight_path.h"
#include "app/views/stage/link_use.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/softmax_row.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/backward_tensors.h"
#include "tests/app/run_simulation.h"
#include "tests/app/views/lane_at.h"
#include "tests/app/views/panel_screen.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

constexpr ImVec2 size = {900, 640};

template <class T>
const T* find_command(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (const T* found = std::get_if<T>(&command)) return found;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("stage: a key tile says how many of all the block visits where a mask leaves some out") {
  CHECK(key_tile_text({0, 1, 2, 3}, 2, 4, true) == "2 (3/4)");
  CHECK(key_tile_text({0, 2, 5, 6, 9}, 5, 256, true) == "5 (3 of 5 visited, 256 in all)");
  CHECK(key_tile_text({0}, 0, 32, true) == "0 (1 of 1 visited, 32 in all)");
  CHECK(key_tile_text({3}, 3, 4, false) == "3 (4/4)");  // a product's block
}

TEST_CASE("stage: where a block begins with its last key tile, the falling number says which visit it is") {
  CHECK(key_tile_text({3, 2, 1, 0}, 3, 4, false) == "3 (1 of 4, last tile first)");
  CHECK(key_tile_text({3, 2, 1, 0}, 1, 4, true) == "1 (3 of 4, last tile first)");
  CHECK(key_tile_text({9, 5, 2}, 5, 256, true) == "5 (2 of 3 visited, 256 in all, last tile first)");
}

TEST_CASE("stage: in a launch of two kinds of blocks, an SM is named by what its block owns, once") {
  const auto simulation = run("flash2_backward_two_pass", toy_gpu(), AttentionProblem{});
  PanelScreen screen({1400, 900});
  bool of_keys = false;
  for (std::int64_t step = 0; step <= simulation->trace->step_count(0); step += 6) {
    const LaneAt at(simulation, step);
    const std::string text = screen.text(view_of({&at.lane, 1}), draw_stage_panel);
    CAPTURE(text);
    of_keys = of_keys || text.find("SM 1 · key tile") != std::string::npos;
    for (const char* twice : {"key tile 1, key tile", "key tile 2, key tile", "query tile 1, key tile"})
      CHECK(text.find(twice) == std::string::npos);
  }
  CHECK(of_keys);
}

TEST_CASE("stage: an operation glows while it runs, and nothing does between launches or after the end") {
  const auto simulation = run("standard", toy_gpu(), AttentionProblem{});
  const Trace& trace = *simulation->trace;
  REQUIRE(trace.launches().size() > 1);
  const int sm = trace.focused_sms().front();
  const double gap = (trace.launches()[0].end + trace.launches()[1].start) / 2;
  LaneAt at(simulation, trace.step_at_cycle(sm, gap));
  REQUIRE(at.lane.operation != nullptr);
  CHECK(running_operation(at.lane) == at.lane.operation);  // at rest, the step's own
  at.lane.state = trace.state_at_cycle(sm, gap);
  CHECK(running_operation(at.lane) == nullptr);
  at.lane.state = trace.state_at_cycle(sm, trace.end_cycle() + 1);
  CHECK(running_operation(at.lane) == nullptr);
  for (const Interval& interval : trace.intervals(sm)) {
    if (interval.run != at.lane.rest.run || interval.unit == Unit::copy || interval.end <= interval.start) continue;
    at.lane.state = trace.state_at_cycle(sm, (interval.start + interval.end) / 2);
    const Operation* const running = running_operation(at.lane);
    REQUIRE(running != nullptr);
    CHECK_FALSE(running->kind == OpKind::load);
  }
}

TEST_CASE("stage: a card's chip is empty while its tile is zero or left over, and fills as the first operation adds to it") {
  const auto simulation = run("flash2", toy_gpu());
  const Trace& trace = *simulation->trace;
  constexpr int sm = 1;
  const ChipTile o = tiles::o, p = tiles::p;
  int zeros = 0, filling = 0, full = 0, left_over = 0;
  for (const Interval& interval : trace.intervals(sm)) {
    BlockOperations block;
    const BlockRun& of = trace.runs()[static_cast<std::size_t>(interval.run)];
    simulation->program->emit_block(of.launch, of.block, block);
    const auto& operations = block.operations;
    const Operation& operation = operations[static_cast<std::size_t>(interval.op)];
    const auto at = [&](double cycle, ChipTile chip_tile) {
      return chip_tile_fullness(block, true, trace.state_at_cycle(sm, cycle), interval.run, chip_tile);
    };
    const bool is_first_sum = operation.kind == OpKind::matmul && operation.dst == o &&
                              std::none_of(operations.begin(), operations.begin() + interval.op, [&](const Operation& earlier) {
                                return earlier.kind == OpKind::matmul && earlier.dst == o;
                              });
    if (operation.kind == OpKind::fill && operation.dst == o) {
      CHECK(at(interval.end, o) == 0);
      ++zeros;
    } else if (is_first_sum) {
      CHECK(at(interval.start, o) == 0);
      CHECK(at((interval.start + interval.end) / 2, o) == doctest::Approx(0.5));
      CHECK(at(interval.end, o) == 1);
      ++filling;
    } else if (operation.kind == OpKind::rescale && operation.iteration > 0) {
      CHECK(at((interval.start + interval.end) / 2, o) == 1);
      ++full;
    } else if (operation.kind == OpKind::matmul && operation.dst.is(Meaning::score) && operation.iteration > 0) {
      CHECK(at(interval.end, p) == 0);  // that of the key tile before, overwritten next
      ++left_over;
    }
  }
  CHECK(zeros > 0);
  CHECK(filling == zeros);
  CHECK(full > 0);
  CHECK(left_over > 0);
}

TEST_CASE("stage: a request waits where its tile's bytes are, and not in the L2 while HBM still sends them") {
  TileInFlight fetch, hit;
  fetch.tile = hit.tile = {tensors::k, 0, 16, 16, 0, 16};
  fetch.hbm_bytes = fetch.bytes = hit.bytes = 512;
  hit.sm = 2;
  const std::vector<TileInFlight> both = {fetch, hit}, alone = {hit};
  CHECK(waits_at(fetch, both, true) == WaitsAt::hbm);
  CHECK(waits_at(hit, both, true) == WaitsAt::hbm);
  CHECK(waits_at(hit, alone, true) == WaitsAt::l2);
  CHECK(waits_at(hit, alone, false) == WaitsAt::link);  // an SM that is not recorded may be fetching it
  fetch.tile.row = 32;
  CHECK(waits_at(hit, std::vector{fetch, hit}, true) == WaitsAt::l2);
}

TEST_CASE("stage: with two L2 partitions the picture says how many bytes are copies, and how many rows a drawn row stands for") {
  PanelScreen screen({1400, 900});
  const auto text_of = [&](const GpuSpec& gpu, const AttentionProblem& problem) {
    const LaneAt at(run("flash2", gpu, problem), 20);
    return std::pair(screen.text(view_of({&at.lane, 1}), draw_stage_panel), at.lane.state);
  };
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 512;
  problem.head_dim = 64;
  const std::string toy = text_of(toy_gpu(), {}).first;
  const auto on_h200 = text_of(h200_gpu(), problem);
  const std::string& h200 = on_h200.first;
  const auto& state = on_h200.second;
  INFO(toy);
  INFO(h200);
  std::int64_t copies = 0, resident = 0;
  for (std::size_t t = 0; t < most_tensors; ++t) copies += state.l2.copies[t], resident += state.l2.resident[t];
  CHECK(copies > 0);
  CHECK(copies <= resident / 2);
  CHECK(toy.find("copies") == std::string::npos);
  CHECK(h200.find("copies ") != std::string::npos);
  CHECK(toy.find("rows drawn as") == std::string::npos);
  CHECK(h200.find(" rows drawn as ") != std::string::npos);
}

TEST_CASE("stage: the L2's bar has its true scale, or says how much it is enlarged, and each HBM bandwidth says of what it is") {
  PanelScreen screen(size);
  const auto text_of = [&](const GpuSpec& gpu) {
    AttentionProblem small;
    small.seq_q = small.seq_kv = 16;
    small.head_dim = 4;
    const LaneAt at(run("flash2", gpu, small), 6);
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    const TextRecording recording;
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    return recording.text();
  };
  GpuSpec small_l2 = toy_gpu();
  small_l2.l2_capacity_bytes = 4096;
  const std::string small = text_of(small_l2), toy = text_of(toy_gpu()), h200 = text_of(h200_gpu());
  CAPTURE(small);
  INFO(toy);
  INFO(h200);
  CHECK(small.find("enlarged") == std::string::npos);
  CHECK(toy.find("× enlarged") != std::string::npos);
  CHECK(toy.find("GB/s usable") != std::string::npos);
  CHECK(h200.find("usable") == std::string::npos);
  CHECK(h200.find("read 4") != std::string::npos);
  CHECK(h200.find("r/w 4") != std::string::npos);
}

TEST_CASE("stage: the HBM box says whose moves its tiles show") {
  PanelScreen screen({1400, 900});
  const auto text_of = [&](const GpuSpec& gpu) {
    const LaneAt at(run("flash2", gpu, {.seq_q = 512, .seq_kv = 512, .head_dim = 64}), 20);
    return screen.text(view_of({&at.lane, 1}), draw_stage_panel);
  };
  CHECK(text_of(toy_gpu()).find("tiles: all SMs") != std::string::npos);
  CHECK(text_of(h200_gpu()).find("tiles: SM 0 only") != std::string::npos);
}

TEST_CASE("stage: marks of one tensor that would lie on one another are one, where small tiles bring many") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.gpu.l2_capacity_bytes = 4096;
  request.problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  request.tile = TileShape{4, 4};
  const auto simulation = simulate(request);
  REQUIRE(simulation);
  PanelScreen screen(size);
  const auto count = [](const std::string& text, std::string_view piece) {
    std::size_t found = 0;
    for (std::size_t from = 0, to = 0; from < text.size(); from = to + 1) {
      to = std::min(text.find_first_of("\t\n", from), text.size());
      found += text.substr(from, to - from) == piece ? 1 : 0;
    }
    return found;
  };
  for (const std::int64_t step : {80, 120, 160}) {
    CAPTURE(step);
    const LaneAt at(*simulation, step);
    REQUIRE(std::ranges::count_if(at.lane.state.flights,
                                  [](const TileInFlight& flight) { return flight.tile.tensor == tensors::k; }) >= 16);
    // Three cards, the bar of the L2, and one mark.
    CHECK(count(screen.text(view_of({&at.lane, 1}), draw_stage_panel), "K") == 5);
  }
}

TEST_CASE("stage: a mark that stands for several transfers says how many, of which SMs, and their bytes") {
  PanelScreen screen(size);
  LaneAt at(run("flash2", toy_gpu()), 20);
  const View view = view_of({&at.lane, 1});
  screen.frame(view, draw_stage_panel);
  const StageLayout layout = panel_state<StageCache>("stage").layout;
  const auto tip_of = [&](const Rect& area, std::vector<TileInFlight> flights) {
    at.lane.state.flights = std::move(flights);
    for (float y = area.min.y; y < area.max.y; y += 4)
      for (float x = area.min.x; x < area.max.x; x += 4) {
        screen.mouse({x, y});
        const std::string text = screen.text(view, draw_stage_panel);
        if (text.find("the L2 until evicted") != std::string::npos || text.find("L2 hits") != std::string::npos) return text;
      }
    return std::string();
  };
  const auto has = [](const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; };
  TileInFlight store, load;
  store.tile = {tensors::lse, 0, 0, 16, 0, 1};
  store.to_sm = false;
  store.progress = 0.999;
  store.sm = 1;
  store.bytes = 64;
  load.tile = {tensors::k, 0, 48, 16, 0, 16};
  load.sm = 1;
  load.bytes = load.hbm_bytes = 256;
  TileInFlight next = store, hit = load;
  next.tile.row = 16;
  hit.sm = 2, hit.hbm_bytes = 0;
  const std::string one = tip_of(layout.l2, {store}), two = tip_of(layout.l2, {store, next});
  CHECK(has(one, " in flight from SM 1"));
  CHECK(has(one, "64 B"));
  CHECK_FALSE(has(one, "in all"));
  CHECK(has(two, "2 tiles of L in flight from SM 1"));
  CHECK(has(two, "2 transfers, 128 B in all"));
  const Rect& keys = layout.find(Tensor(tensors::k))->cells;
  const std::string both = tip_of(keys, {load, hit});
  CHECK(has(both, " requested by several SMs"));
  CHECK(has(both, "2 loads of 2 SMs, 512 B in all"));
  CHECK(has(both, "256 B from HBM"));
}

TEST_CASE("stage: a hidden score names the mask that hides it, whatever mask that is") {
  PanelScreen screen({1400, 900});
  const auto tip_of_hidden = [&](bool causal, std::vector<std::string> masks) {
    SimulationRequest request;
    request.gpu = toy_gpu();
    request.algorithm = "flex";
    request.problem = {.seq_q = 32, .seq_kv = 32, .head_dim = 16};
    request.problem.causal = causal;
    request.masking.masks = std::move(masks);
    const auto simulation = simulate(request);
    REQUIRE_MESSAGE(simulation, (simulation ? "" : simulation.error().sentence.text()));
    for (std::int64_t step = 1; step < 60; ++step) {
      LaneAt at(*simulation, step);
      if (at.lane.operation == nullptr || at.lane.operation->kind != OpKind::mask) continue;
      screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
      const StageLayout layout = panel_state<StageCache>("stage").layout;
      const ChipTileBox* box = layout.find(tiles::s);
      REQUIRE(box != nullptr);
      for (float y = box->cells.min.y + 1; y < box->cells.max.y; y += 4)
        for (float x = box->cells.min.x + 1; x < box->cells.max.x; x += 4) {
          screen.mouse({x, y});
          const std::string text = screen.text(view_of({&at.lane, 1}), draw_stage_panel);
          if (const std::size_t found = text.find("Masked ("); found != std::string::npos)
            return text.substr(found, text.find(" Scores:", found) - found);
        }
    }
    return std::string("nothing is hidden");
  };
  CHECK(tip_of_hidden(true, {}) == "Masked (causal): this query does not see this key");
  CHECK(tip_of_hidden(false, {"q - kv < 5"}) == "Masked (q - kv < 5): this query does not see this key");
}

TEST_CASE("stage: a card names the key tile of its block where the blocks of a launch divide the keys too") {
  PanelScreen screen({1400, 900});
  const auto text_of = [&](const char* program) {
    AttentionProblem problem;
    problem.seq_q = problem.seq_kv = 64;
    problem.head_dim = 16;
    const LaneAt at(run(program, toy_gpu(), problem), 3);
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    const TextRecording recording;
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    return recording.text();
  };
  const std::string scores = text_of("standard"), flash = text_of("flash2");
  CAPTURE(scores);
  CAPTURE(flash);
  CHECK(scores.find("SM 1 · query tile 0, key tile 1") != std::string::npos);
  CHECK(flash.find("SM 1 · query tile 1") != std::string::npos);
  CHECK(flash.find("query tile 1, key tile") == std::string::npos);
}

TEST_CASE("stage panel: SMs whose blocks share a query tile name their rows") {
  PanelScreen screen({1400, 900});
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  problem.head_dim = 16;
  const LaneAt at(run("standard", toy_gpu(), problem), 40);  // in the softmax, whose blocks have a few rows of a tile
  screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
  const TextRecording recording;
  screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
  const std::string text = recording.text();
  CAPTURE(text);
  CHECK(text.find("SM 0 · softmax · block (head 0, rows 0 to 3)") != std::string::npos);
  CHECK(text.find("SM 1 · rows 4 to 7") != std::string::npos);
  CHECK(text.find("SM 3 · rows 12 to 15") != std::string::npos);
}

TEST_CASE("stage panel: the copy of P that the next product reads is told from P by its type") {
  PanelScreen screen({1600, 900});
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  problem.head_dim = 16;
  const LaneAt at(run("flash2_backward", toy_gpu(), problem), 30);  // in the launch of the gradients
  screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
  const TextRecording recording;
  screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
  const std::string text = recording.text();
  CAPTURE(text);
  CHECK(text.find("P = exp(S − L)") != std::string::npos);
  CHECK(text.find("P (fp16)") != std::string::npos);
}

TEST_CASE("stage panel: a tile that is worked on in place is headed by what it holds: dP, dP − D, and then dS") {
  PanelScreen screen({1600, 900});
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 8;
  problem.head_dim = 4;
  const auto simulation = run("flash2_backward", toy_gpu(), problem);
  int seen = 0;
  const auto count_of = [](const std::string& text, std::string_view name) {  // lines and columns that are this name
    int count = 0;
    for (std::size_t from = 0, end = 0; from <= text.size(); from = end + 1) {
      end = std::min(text.find_first_of("\t\n", from), text.size());
      count += text.substr(from, end - from) == name ? 1 : 0;
    }
    return count;
  };
  const LaneAt last(simulation, simulation->trace->step_count(simulation->trace->focused_sms().front()));
  for (std::int64_t step = 1; step < last.lane.step_count; ++step) {
    const LaneAt at(simulation, step);
    if (at.lane.operation == nullptr || at.lane.operation->dst != tiles::d_p) continue;
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    const TextRecording recording;
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    const std::string text = recording.text();
    CAPTURE(step);
    CAPTURE(text);
    const OpKind kind = at.lane.operation->kind;
    CHECK((count_of(text, "dP − D") > 0) == (kind == OpKind::subtract_rows));
    CHECK((count_of(text, "dP") > 0) == (kind == OpKind::matmul));
    CHECK(count_of(text, "dS") >= (kind == OpKind::multiply ? 2 : 1));  // in registers, beside the buffer of the copy
    ++seen;
  }
  CHECK(seen >= 3);
}

TEST_CASE(
    "stage panel: where groups take turns it says whose turn it is, and a buffer of the ring tells its tokens and its boxes") {
  PanelScreen screen({1600, 900});
  const AttentionProblem problem = {.heads = 8, .kv_heads = 8, .seq_q = 1024, .seq_kv = 1024, .head_dim = 128};
  const auto turns_of = [&](const char* program, bool hovers_k) {
    LaneAt at(run(program, h200_gpu(), problem), 60, false);
    auto steps = std::make_shared<const StepIndex>(make_step_index(*at.lane.simulation, at.lane.focus_sm));
    at.lane.timeline = std::make_shared<const TimelineData>(make_timeline(*at.lane.simulation, std::move(steps)));
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    if (hovers_k) {
      const ChipTileBox* const k = panel_state<StageCache>("stage").layout.find(tiles::k, 0);
      REQUIRE(k != nullptr);
      screen.mouse({k->label.min.x + 2, k->label.center().y});
    }
    return screen.text(view_of({&at.lane, 1}), draw_stage_panel);
  };
  const std::string ping_pong = turns_of("hopper_ping_pong", true);
  CHECK(ping_pong.find("Turn") != std::string::npos);
  CHECK(ping_pong.find("consumer 0") != std::string::npos);
  CHECK(ping_pong.find("consumer 1") != std::string::npos);
  CHECK(ping_pong.find("Full token (square)") != std::string::npos);
  CHECK(ping_pong.find("TMA fetches it in 2 boxes of 128 × 64, each row swizzled") != std::string::npos);
  CHECK(turns_of("hopper_producer", false).find("Turn") == std::string::npos);
  CHECK(turns_of("flash2", true).find("Full token") == std::string::npos);
  screen.mouse({-1, -1});
}

TEST_CASE("stage panel: a tile that an operation writes to shared memory shows its values, as a loaded one does") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  problem.head_dim = 16;
  for (const std::string_view id : {"flash2_backward", "flash1_backward"}) {
    CAPTURE(id);
    const auto simulation = run(id, toy_gpu(), problem);
    std::int64_t step = 1;
    const auto writes_shared = [&] {
      const LaneAt at(simulation, step, false);
      const Operation* op = at.lane.operation;
      return op != nullptr && op->kind == OpKind::copy && is_shared(*at.lane.operations, op->dst);
    };
    while (step < simulation->trace->step_count(0) && !writes_shared()) ++step;
    REQUIRE(writes_shared());
    const LaneAt at(simulation, step);
    const ChipTile written = at.lane.operation->dst;
    PanelScreen screen({1600, 900});
    screen.frame(view_of({&at.lane, 1}), draw_stage_panel);
    const StageCache& cache = panel_state<StageCache>("stage");
    int boxes = 0;
    for (std::size_t i = 0; i < cache.layout.chip_tiles.size(); ++i) {
      if (cache.layout.chip_tiles[i].chip_tile != written) continue;
      CAPTURE(to_string(written));
      CHECK(cache.layout.chip_tiles[i].shared);
      CHECK(cache.pictures.at(static_cast<int>(i)).values.now != nullptr);
      CHECK(cache.pictures.at(static_cast<int>(i)).values.now == at.lane.history->value(written, at.lane.values_op));
      ++boxes;
    }
    CHECK(boxes == 1);
  }
}

TEST_CASE("stage panel: an addition in flight has a plus, and the sum before and after of one cell") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  problem.head_dim = 16;
  const auto simulation = run("flash2_backward", toy_gpu(), problem);
  const Trace& trace = *simulation->trace;
  const auto intervals = trace.intervals(trace.focused_sms().front());
  const auto adds = std::ranges::find_if(intervals, [](const Interval& i) { return i.kind == OpKind::reduce_add; });
  REQUIRE(adds != intervals.end());
  LaneAt at(simulation, trace.step_of_interval(trace.focused_sms().front(), static_cast<std::size_t>(adds - intervals.begin())));
  const std::string sum = formula_with_numbers(*at.kept, at.lane.rest.op, 0);
  CHECK(sum.starts_with("dQ_acc["));
  CHECK(sum.find(" = 0 ") != std::string::npos);  // of the first block
  PanelScreen screen({1600, 900});
  std::string text;
  for (int part = 1; part < 40 && text.find("+ dQ_acc") == std::string::npos; ++part) {  // until it is between the SM and the L2
    at.lane.state = trace.state_at_cycle(at.lane.focus_sm, adds->end - 0.025 * part * static_cast<double>(adds->streams));
    text = screen.text(view_of({&at.lane, 1}), draw_stage_panel);
  }
  CAPTURE(text);
  CHECK(text.find("+ dQ_acc") != std::string::npos);
  CHECK(text.find(sum) != std::string::npos);
}

TEST_CASE("stage panel: draws every program on every GPU at many steps, with and without values, in both themes") {
  for (ThemeKind kind : {ThemeKind::dark, ThemeKind::light}) {
    for (const GpuSpec& gpu : {toy_gpu(), h200_gpu(), textbook_gpu()}) {
      for (const ProgramInfo& info : program_table()) {
        PanelScreen screen(size, kind);
        const auto simulation = run(info.id, gpu);
        const std::int64_t steps = simulation->trace->step_count(0);
        for (std::int64_t step : {std::int64_t{0}, std::int64_t{1}, steps / 3, steps / 2, steps - 1, steps}) {
          for (bool values : {false, true}) {
            const LaneAt at(simulation, step, values);
            INFO(info.id, " on ", gpu.id, " at step ", step);
            screen.frame(view_of({&at.lane, 1}), draw_stage_panel,
                         {static_cast<float>(37 * step % 900), static_cast<float>(53 * step % 640)});
            CHECK(screen.vertices() > 400);
          }
        }
      }
    }
  }
}

TEST_CASE("stage panel: between steps it draws tiles in flight, repeatably") {
  PanelScreen screen(size);
  LaneAt at(run("flash2", toy_gpu()), 20);
  View view = view_of({&at.lane, 1});
  screen.frame(view, draw_stage_panel);
  const int rest = screen.vertices();
  for (int i = 0; i < 20; ++i) {
    view.playback.motion = i / 20.0;
    at.lane.state = at.lane.simulation->trace->state_at_cycle(0, at.lane.rest.cycle * (0.9 + 0.005 * i));
    screen.frame(view, draw_stage_panel);
  }
  view.playback.motion = 1;
  at.lane.state = at.lane.rest;
  screen.frame(view, draw_stage_panel);
  CHECK(screen.vertices() == rest);
}

TEST_CASE("stage panel: clicking chooses a row or an SM; hovering highlights the tensor") {
  PanelScreen screen(size);
  const LaneAt at(run("flash2", toy_gpu()), 20);
  const View view = view_of({&at.lane, 1});
  screen.frame(view, draw_stage_panel);
  screen.frame(view, draw_stage_panel);
  const StageLayout layout = panel_state<StageCache>("stage").layout;
  const ChipTileBox* scores = layout.find(tiles::s);
  REQUIRE(scores);
  const Rect row = row_rect(*scores, 5);
  screen.frame(view, draw_stage_panel, row.center());
  const auto hovered = screen.frame(view, draw_stage_panel, row.center());
  REQUIRE(find_command<HoverTensor>(hovered));
  CHECK(find_command<HoverTensor>(hovered)->tensor == tensors::s);
  const auto clicked = screen.frame(view, draw_stage_panel, row.center(), true);
  REQUIRE(find_command<SelectRow>(clicked));
  CHECK(find_command<SelectRow>(clicked)->row == 5);
  screen.frame(view, draw_stage_panel, row.center(), false);

  screen.frame(view, draw_stage_panel, layout.sms[1].box.center());
  const auto focus = screen.frame(view, draw_stage_panel, layout.sms[1].box.center(), true);
  REQUIRE(find_command<SetFocusSm>(focus));
  CHECK(find_command<SetFocusSm>(focus)->sm == layout.sms[1].sm);
  screen.frame(view, draw_stage_panel, layout.sms[1].box.center(), false);

  Workspace lit_workspace;
  lit_workspace.hovered_tensor = tensors::s;
  const View lit = view_of({&at.lane, 1}, lit_workspace);
  screen.frame(lit, draw_stage_panel, layout.l2_label.center());
  const auto left = screen.frame(lit, draw_stage_panel, layout.l2_label.center());
  REQUIRE(find_command<HoverTensor>(left));
  CHECK_FALSE(find_command<HoverTensor>(left)->tensor.has_value());

  screen.frame(view, draw_stage_panel, row.center());
  screen.frame(view, draw_stage_panel, row.center());
  const auto gone = screen.frame(lit, draw_stage_panel, {-1, -1});
  REQUIRE(find_command<HoverTensor>(gone));
  CHECK_FALSE(find_command<HoverTensor>(gone)->tensor.has_value());
  CHECK(screen.frame(lit, draw_stage_panel, {-1, -1}).empty());  // another panel may have lit it since
}

TEST_CASE("stage panel: a full L2 shows its usable capacity, and the reported one if it differs") {
  GpuSpec gpu = toy_gpu();
  gpu.l2_capacity_bytes = 1 << 20;
  CHECK(l2_share(gpu, 1 << 19) == 0.5);
  CHECK(l2_fill_text(gpu, 1 << 19) == "1 MiB, 50 % full");
  gpu.l2_usable_fraction = 0.5;
  CHECK(l2_share(gpu, 1 << 19) == 1);
  CHECK(l2_fill_text(gpu, 1 << 18) == "256 of 512 KiB usable");
  CHECK(l2_fill_text(gpu, 0) == "0 B of 512 KiB usable");
  CHECK(l2_copies_text(1 << 16) == "copies 64 KiB");  // units of 1024 there too
}

TEST_CASE("stage panel: nothing moves when values arrive") {
  PanelScreen screen(size, ThemeKind::light);
  const auto simulation = run("flash1", toy_gpu());
  const LaneAt without(simulation, 30, false), with(simulation, 30, true);
  screen.frame(view_of({&without.lane, 1}), draw_stage_panel);
  const StageLayout before = panel_state<StageCache>("stage").layout;
  screen.frame(view_of({&with.lane, 1}), draw_stage_panel);
  const StageLayout after = panel_state<StageCache>("stage").layout;
  REQUIRE(before.chip_tiles.size() == after.chip_tiles.size());
  for (std::size_t i = 0; i < before.chip_tiles.size(); ++i) {
    CHECK(before.chip_tiles[i].cells.min.x == after.chip_tiles[i].cells.min.x);
    CHECK(before.chip_tiles[i].cells.max.y == after.chip_tiles[i].cells.max.y);
  }
}

TEST_CASE("race panel: draws two runs of every attention program at any clock, and works with one") {
  for (const char* algorithm : {"flash1", "flash2", "standard"}) {
    for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()}) {
      PanelScreen screen({684, 424});
      const auto left = run("standard", gpu), right = run(algorithm, gpu);
      const double end = std::max(left->trace->end_cycle(), right->trace->end_cycle());
      for (double part : {0.0, 0.3, 0.8, 1.0}) {
        std::vector<Lane> lanes;
        std::vector<LaneAt> kept;
        for (const auto& simulation : {left, right}) {
          kept.emplace_back(simulation, simulation->trace->step_at_cycle(0, part * end));
          lanes.push_back(kept.back().lane);
        }
        View view = view_of(lanes);
        view.playback.race = true;
        view.playback.cycle = part * end;
        screen.frame(view, draw_race_panel, {200, 200});
        CHECK(screen.vertices() > 400);
        screen.frame(view_of({lanes.data(), 1}), draw_race_panel);
        CHECK(screen.vertices() > 0);
      }
    }
  }
}

TEST_CASE("links: no rate above its peak is shown") {
  CHECK(shown_rate(16896, 4724) == 4724);
  CHECK(shown_rate(12, 4724) == 12);
  CHECK(shown_rate(12, 0) == 12);  // unlimited
}

TEST_CASE("heat scale: factors keep their value, scores are signed about a half, masked entries are nothing") {
  Matrix scores(1, 3);
  scores.values = {-2, 0, 2};
  const HeatScale signed_scale(tiles::s, &scores, nullptr);
  CHECK(signed_scale(-2) == doctest::Approx(0));
  CHECK(signed_scale(0) == doctest::Approx(0.5));
  CHECK(signed_scale(2) == doctest::Approx(1));
  CHECK(signed_scale(-INFINITY) == 0);
  const HeatScale fraction(tiles::alpha, &scores, nullptr);
  CHECK(fraction(0.25F) == doctest::Approx(0.25));
  const HeatScale sum(tiles::l, &scores, nullptr);
  CHECK(sum(1) == doctest::Approx(0.5));
}

TEST_CASE("cell picture: numbers appear only if they fit, and a condensed cell shows its largest value") {
  PanelScreen screen(size);
  auto matrix = std::make_shared<Matrix>(8, 8, 0.1F);
  matrix->at(3, 3) = -7;
  ChipTileBox box;
  box.chip_tile = tiles::s;
  box.rows = box.cols = box.shown_rows = box.shown_cols = 8;
  box.cells = {{0, 0}, {320, 240}};
  CellValues values;
  values.now = values.before = matrix;
  StageMetrics metrics;
  CHECK(make_cell_picture(box, values, screen.theme(), metrics).numbers.size() == 64);
  CHECK(digits_of_cell(box, screen.theme(), metrics) == 4);
  matrix->at(0, 0) = 3.758F;
  CHECK(std::string(make_cell_picture(box, values, screen.theme(), metrics).numbers.front().text.data()) == "3.76");
  CHECK(std::string(make_cell_picture(box, values, screen.theme(), metrics, 3).numbers.front().text.data()) == "3.8");
  box.cells = {{0, 0}, {64, 64}};
  CHECK(make_cell_picture(box, values, screen.theme(), metrics).numbers.empty());

  box.shown_rows = box.shown_cols = 2;  // (3, 3) lies in the first cell: farthest from zero, and negative
  const CellPicture picture = make_cell_picture(box, values, screen.theme(), metrics);
  REQUIRE(picture.quads->size() == 4);
  CHECK(picture.quads->instances()[0].colors[0] == heat_color(screen.theme(), tensors::s, 0));
  CHECK(picture.quads->instances()[3].colors[0] != picture.quads->instances()[0].colors[0]);
}

TEST_CASE("cell picture: rescaling drains each row to its own factor") {
  PanelScreen screen(size);
  auto output = std::make_shared<Matrix>(2, 2, 1.0F);
  auto alpha = std::make_shared<Matrix>(2, 1);
  alpha->values = {0.25F, 1.0F};
  ChipTileBox box;
  box.chip_tile = tiles::o;
  box.rows = box.cols = box.shown_rows = box.shown_cols = 2;
  box.cells = {{0, 0}, {100, 100}};
  const CellPicture picture = make_cell_picture(box, {output, output, 1, alpha, nullptr}, screen.theme(), {});
  REQUIRE(picture.quads->size() == 4);
  CHECK(picture.quads->instances()[0].shape[2] == doctest::Approx(0.25));
  CHECK(picture.quads->instances()[3].shape[2] == doctest::Approx(1));
  const CellPicture start = make_cell_picture(box, {output, output, 0, alpha, nullptr}, screen.theme(), {});
  CHECK(start.quads->instances()[0].shape[2] == doctest::Approx(1));
}

TEST_CASE("cell picture: the value under the mouse is the one drawn, also in condensed cells") {
  ChipTileBox box;
  box.rows = 128;
  box.cols = 64;
  box.shown_rows = 32;
  box.shown_cols = 64;
  box.cells = {{10, 20}, {10 + 640, 20 + 320}};
  int row = 0, col = 0;
  REQUIRE(cell_at(box, {10.5F, 20.5F}, row, col));
  CHECK(row == 0);
  CHECK(col == 0);
  REQUIRE(cell_at(box, {649, 339}, row, col));
  CHECK(row == 127);
  CHECK(col == 63);
  CHECK_FALSE(cell_at(box, {5, 25}, row, col));
  const Rect third = row_rect(box, 9);  // the third drawn row holds 8 to 11
  CHECK(third.contains({15, 45}));
}

}  // namespace tilescope
