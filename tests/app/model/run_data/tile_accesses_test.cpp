// What the stage works out from a trace: which tiles were read and written how often, which links are busy, where a tile in flight
// is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "app/model/run_data/stage_facts.h"
#include "app/model/run_data/tile_accesses.h"
#include "app/views/stage/flight_path.h"
#include "app/views/stage/link_use.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

std::shared_ptr<const Simulation> run(const char* algorithm, AttentionProblem problem = {}, GpuSpec gpu = toy_gpu()) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.problem = std::move(problem);
  request.tile = TileShape{16, 16};
  request.gpu = std::move(gpu);
  const auto simulation = simulate(request);
  REQUIRE_MESSAGE(simulation, (simulation ? std::string() : simulation.error().sentence.text()));
  return *simulation;
}

StageLayout layout_of(const Simulation& simulation, int focus_sm = 0) {
  const ProgramShape shape = program_shape(*simulation.info, *simulation.program, 0);
  return layout_stage({{0, 0}, {900, 640}}, simulation.request.gpu, shape, focus_sm, StageMetrics{});
}

/// The complete history of a plane.
std::unique_ptr<TileAccesses> history_of(const std::shared_ptr<const Simulation>& simulation, std::int64_t plane = 0) {
  return std::make_unique<TileAccesses>(*simulation, plane);
}

template <class Visit>
void each_cell(const TileAccesses& history, const TensorBox& box, const Visit& visit) {
  const BoxAccesses cells = history.cells(box);
  for (int row = 0; row < box.shown_rows; ++row)
    for (int col = 0; col < box.shown_cols; ++col) visit(cells.cell(row, col));
}

/// How often each drawn cell of a tensor has been read and written by the end.
void check_counts(const std::shared_ptr<const Simulation>& simulation, Tensor tensor, std::int64_t reads, std::int64_t writes) {
  const StageLayout layout = layout_of(*simulation);
  const TensorBox* box = layout.find(tensor);
  REQUIRE(box);
  const double end = simulation->trace->end_cycle();
  const auto history = history_of(simulation);
  each_cell(*history, *box, [&](const CellAccesses& cell) {
    INFO(simulation->info->id, " ", to_string(tensor));
    CHECK(cell.reads(end) == reads);
    CHECK(cell.writes(end) == writes);
    CHECK(cell.reads(-1) == 0);
    CHECK(cell.reads() == reads);
    CHECK(cell.read_part(end) == (reads > 0 ? 1 : 0));
    CHECK(cell.written_part(end) == (writes > 0 ? 1 : 0));
  });
}

bool near(ImVec2 a, ImVec2 b) {
  return std::hypot(a.x - b.x, a.y - b.y) < 1;
}

}  // namespace

TEST_CASE("tile history: flash2 reads each K and V tile once for every query tile, each Q tile once, and writes O once") {
  const auto simulation = run("flash2");
  check_counts(simulation, tensors::q, 1, 0);
  check_counts(simulation, tensors::k, 4, 0);
  check_counts(simulation, tensors::v, 4, 0);
  check_counts(simulation, tensors::o, 0, 1);
  check_counts(simulation, tensors::lse, 0, 1);
}

TEST_CASE("tile history: the next use of a tile is its next read or write, wrapping to the first") {
  TensorBox box;
  box.grid_cols = 3;
  box.shown_cols = 2;  // of two tiles and of one
  const std::vector<TileEvent> events = {{10, 0, 0, false}, {20, 0, 1, true}, {30, 0, 1, false}, {40, 1, 0, false}};
  const TileTimes times(1, 3, events);
  const BoxAccesses cells(times, box);
  CHECK_FALSE(cells.cell(0, 1).next_use(0));
  const CellAccesses cell = cells.cell(0, 0);
  CHECK(cell.next_use(0) == 10);
  CHECK(cell.next_use(10) == 20);
  CHECK(cell.next_use(25) == 30);
  CHECK(cell.next_use(30) == 10);
}

TEST_CASE("tile history: flash1 reads K and V once, and writes O once more than there are key tiles") {
  const auto simulation = run("flash1");
  check_counts(simulation, tensors::q, 4, 0);
  check_counts(simulation, tensors::k, 1, 0);
  check_counts(simulation, tensors::o, 4, 5);
  check_counts(simulation, tensors::m, 4, 5);
}

TEST_CASE("tile history: standard attention writes every tile of S and P once, whatever the softmax tile") {
  const auto simulation = run("standard");
  const StageLayout layout = layout_of(*simulation);
  const auto history = history_of(simulation);
  const double end = simulation->trace->end_cycle();
  for (Tensor tensor : {tensors::s, tensors::p}) {
    REQUIRE(layout.find(tensor));
    each_cell(*history, *layout.find(tensor), [&](const CellAccesses& cell) {
      CHECK(cell.written_part(end) == 1);
      CHECK(cell.read_part(end) == 1);
    });
  }
}

TEST_CASE("tile history: what was read and written only grows with time") {
  const auto simulation = run("flash1");
  const StageLayout layout = layout_of(*simulation);
  const auto history = history_of(simulation);
  const double end = simulation->trace->end_cycle();
  for (const TensorBox& box : layout.tensors) {
    if (!box.here) continue;
    each_cell(*history, box, [&](const CellAccesses& cell) {
      double before = 0;
      for (int i = 0; i <= 50; ++i) {
        const double part = cell.read_part(end * i / 50) + cell.written_part(end * i / 50);
        CHECK(part >= before);
        CHECK(part <= 2);
        before = part;
      }
    });
  }
}

TEST_CASE("tile history: on a large GPU it has what the SM in focus loaded and stored, and nothing of the others") {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = 4;
  problem.seq_q = problem.seq_kv = 2048;
  problem.head_dim = 64;
  SimulationRequest request;
  request.problem = problem;
  request.gpu = h200_gpu();
  const auto simulation = simulate(request);
  REQUIRE_MESSAGE(simulation, (simulation ? std::string() : simulation.error().sentence.text()));
  const StageLayout layout = layout_of(**simulation);
  const auto history = history_of(*simulation);
  CHECK_FALSE(history->of_all_sms());
  CHECK(history_of(run("flash2"))->of_all_sms());
  const int sm = (*simulation)->trace->focused_sms().front();
  std::set<std::int64_t> own;  // query tiles of its blocks on this plane
  for (const BlockRun& each : (*simulation)->trace->runs()) {
    const auto domain = (*simulation)->program->domain_of(each.launch, each.block);
    REQUIRE(domain);
    if (each.sm == sm && domain->plane == 0) own.insert(domain->first / (*simulation)->program->tile().block_q);
  }
  TensorBox q = *layout.find(tensors::q), o = *layout.find(tensors::o);
  for (TensorBox* box : {&q, &o}) box->shown_rows = box->grid_rows;
  REQUIRE(!own.empty());
  REQUIRE(own.size() < static_cast<std::size_t>(o.grid_rows));
  const double end = (*simulation)->trace->end_cycle();
  for (int row = 0; row < o.grid_rows; ++row) {
    CHECK(history->cells(q).cell(row, 0).reads(end) == (own.contains(row) ? 1 : 0));
    CHECK(history->cells(o).cell(row, 0).writes(end) == (own.contains(row) ? 1 : 0));
  }
}

TEST_CASE("tile history: a cell of several tiles counts all their uses") {
  const auto simulation = run("flash1", {.seq_q = 208, .seq_kv = 208});
  const StageLayout layout = layout_of(*simulation);
  TensorBox box = *layout.find(tensors::o);
  const auto history = history_of(simulation);
  box.shown_rows = box.grid_rows;
  const BoxAccesses fine = history->cells(box);
  box.shown_rows = 3;
  const BoxAccesses coarse = history->cells(box);
  REQUIRE(box.grid_rows == 13);  // five, five and three
  const double end = simulation->trace->end_cycle();
  for (int row = 0; row < 3; ++row) {
    const CellAccesses cell = coarse.cell(row, 0);
    for (int i = -1; i <= 40; ++i) {
      const double cycle = end * i / 40;
      std::int64_t reads = 0, writes = 0;
      double written = 0;
      std::optional<double> next;
      const int first = row * 5, last = std::min(first + 5, 13);
      for (int tile = first; tile < last; ++tile) {
        const CellAccesses of_tile = fine.cell(tile, 0);
        reads += of_tile.reads(cycle);
        writes += of_tile.writes(cycle);
        written += of_tile.written_part(cycle);
        const std::optional<double> use = of_tile.next_use(cycle);
        if (use && *use > cycle) next = std::min(next.value_or(*use), *use);
      }
      CHECK(cell.reads(cycle) == reads);
      CHECK(cell.writes(cycle) == writes);
      CHECK(cell.written_part(cycle) == doctest::Approx(written / (last - first)));
      if (next) CHECK(cell.next_use(cycle) == next);
    }
  }
}

TEST_CASE("block map: agrees with every block about its plane and rows") {
  const std::uint32_t seed = std::random_device{}();
  std::mt19937 random(seed);
  INFO("seed ", seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (const ProgramInfo& info : program_table()) {
    for (int trial = 0; trial < 8; ++trial) {
      AttentionProblem problem;
      problem.batch = draw(1, 3);
      problem.kv_heads = draw(1, 2);
      problem.heads = problem.kv_heads * draw(1, 3);
      problem.seq_q = draw(1, 90);
      problem.seq_kv = draw(1, 90);
      const auto program = info.make(problem, TileShape{16, 16}, toy_gpu());
      REQUIRE_MESSAGE(program, (program ? std::string() : program.error().sentence.text()));
      for (int launch = 0; launch < static_cast<int>((*program)->launches().size()); ++launch) {
        const BlockMap map(**program, launch);
        if (!map.known()) continue;  // then every block is asked
        BlockOperations block;
        for (std::int64_t index = 0; index < (*program)->launches()[static_cast<std::size_t>(launch)].blocks(); ++index) {
          block.clear();
          (*program)->emit_block(launch, index, block);
          INFO(info.id, " launch ", launch, " block ", index);
          REQUIRE(map.plane(index) == block.domain.plane);
          REQUIRE(map.first_row(index) == block.domain.first);
        }
      }
    }
  }
}

TEST_CASE("link rates: those of all bins add up to the ledger, and none is above its link's peak") {
  const auto simulation = run("standard");
  const TimeBins& bins = simulation->trace->bins();
  const LinkRates rates = make_link_rates(*simulation);
  REQUIRE(bins.width > 0);
  const auto total = [&](Link link) { return static_cast<double>(simulation->ledger.total(link).value); };
  double hbm = 0, l2 = 0;
  for (std::size_t bin = 0; bin < bins.traffic.size(); ++bin) {
    const double cycle = (static_cast<double>(bin) + 0.5) * bins.width;
    double together = 0;
    for (const Tensor tensor : simulation->program->tensors()) together += rates.hbm_at(tensor, cycle);
    const GpuSpec& gpu = simulation->request.gpu;
    if (bin > 0 && bin + 1 < bins.traffic.size())
      CHECK(together <= std::max(gpu.hbm_rate().value, gpu.hbm_read_rate().value) * (1 + 1e-9));
    hbm += together * bins.width;
    l2 += rates.l2_at(cycle) * bins.width;
  }
  CHECK(hbm == doctest::Approx(total(Link::hbm_read) + total(Link::hbm_write)));
  CHECK(l2 == doctest::Approx(total(Link::l2_to_sm) + total(Link::sm_to_l2)));
}

TEST_CASE("tile history: two halves are one read of a tile, as in a kernel whose groups load half a tile each") {
  const std::vector<TileEvent> events = {{10, 0, 0, false, 32, 64}, {20, 0, 0, false, 32, 64}, {30, 0, 0, false, 64, 64}};
  const TileTimes times(1, 1, events);
  const CellAccesses cell{&times, {0, 1}, {0, 1}};
  CHECK(cell.reads(10) == 0);
  CHECK(cell.reads(20) == 1);
  CHECK(cell.reads(30) == 2);
  // Two groups load 64 of the 128 rows of Q each; the shipped H100 has wgmma.
  SimulationRequest request;
  request.algorithm = "hopper_wgmma";
  request.problem.seq_q = 128;
  request.problem.seq_kv = 512;
  request.problem.head_dim = 64;
  request.gpu = h200_gpu();
  const auto made = simulate(request);
  REQUIRE(made);
  TensorBox box;
  box.tensor = tensors::q;
  CHECK(TileAccesses(**made, 0).cells(box).cell(0, 0).reads() == 1);
}

TEST_CASE("tile history: a cell of thousands of tiles is filled to within a pixel") {
  constexpr int rows = 5000, cols = 3;
  std::vector<TileEvent> events;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) events.push_back({static_cast<double>(row), row, col, true});
  const TileTimes times(rows, cols, events);
  const CellAccesses cell{&times, {0, rows}, {0, cols}};
  for (const double cycle : {0.0, 700.0, 2499.0, 4990.0}) {
    CAPTURE(cycle);
    CHECK(cell.written_part(cycle) == doctest::Approx((cycle + 1) / rows).epsilon(0.012).scale(1));
    CHECK(cell.writes(cycle) == static_cast<std::int64_t>(cycle + 1) * cols);
  }
  CHECK(cell.written_part(rows) == 1);
  CHECK(cell.read_part(rows) == 0);
}

TEST_CASE("link use: an SM's port is idle before its first load and after its last") {
  const auto simulation = run("flash2");
  const Trace& trace = *simulation->trace;
  CHECK(port_rate(trace, 0, -1, true) == 0);
  CHECK(port_rate(trace, 0, trace.end_cycle() + 1, true) == 0);
  double most = 0;
  for (int i = 0; i <= 200; ++i) most = std::max(most, port_rate(trace, 0, trace.end_cycle() * i / 200, true));
  CHECK(most > 0);
}

TEST_CASE("link use: a port carries bytes only while they are counted, and never more than it can") {
  const auto simulation = run("flash2");
  const Trace& trace = *simulation->trace;
  const double peak = simulation->request.gpu.sm_l2_bytes_per_cycle;
  const auto total = [&](double cycle) {
    std::int64_t sum = 0;
    const TraceState state = trace.state_at_cycle(0, cycle);
    for (const auto& by_link : state.traffic) sum += by_link[static_cast<std::size_t>(Link::l2_to_sm)];
    return sum;
  };
  for (const Interval& load : trace.intervals(0)) {
    if (load.kind != OpKind::load) continue;
    CHECK(load.streams > 0);
    CHECK(load.bytes <= peak * load.streams * 1.001);
  }
  for (int i = 1; i <= 200; ++i) {
    const double cycle = trace.end_cycle() * i / 200;
    if (port_rate(trace, 0, cycle, true) > 0) CHECK(total(cycle + 1) > total(cycle - 1));
  }
}

TEST_CASE("SM activity: at the end of an operation, the SM is doing that operation") {
  const auto simulation = run("flash2");
  const Trace& trace = *simulation->trace;
  int checked = 0;
  for (const Interval& interval : trace.intervals(1)) {
    if (interval.kind == OpKind::load || interval.end <= interval.start) continue;
    const SmActivity activity = sm_activity(trace, 1, interval.end);
    REQUIRE(activity.doing);
    CHECK(activity.doing->end >= interval.end);
    CHECK(activity.doing->start <= interval.end);
    ++checked;
  }
  CHECK(checked > 10);
  const SmActivity idle = sm_activity(trace, 1, trace.end_cycle() + 1);
  CHECK_FALSE(idle.doing);
  CHECK_FALSE(idle.next);
}

TEST_CASE("flight path: a load from HBM starts at its tile and ends in its buffer; a hit starts in the L2; a store ends there") {
  const auto simulation = run("flash2");
  const StageLayout layout = layout_of(*simulation, 1);
  const TensorLayout keys = tensor_layout(simulation->program->problem(), simulation->program->tile(), tensors::k);
  TileInFlight flight;
  flight.tile = {tensors::k, 0, 32, 16, 0, 16};
  flight.sm = 1;
  flight.chip_tile = tiles::k;
  flight.bytes = flight.hbm_bytes = 512;
  const auto load = flight_path(layout, flight, keys, 1, 0, 0);
  REQUIRE(load);
  CHECK(layout.find(tensors::k)->cells.contains(load->points.front()));
  CHECK(near(load->points.back(), layout.find(tiles::k)->cells.center()));
  CHECK(near(load->at(0), load->points.front()));
  CHECK(near(load->at(load->length() + 5), load->points.back()));
  CHECK(load->at(load->length() / 2).y < load->points.front().y);

  const auto elsewhere = flight_path(layout, flight, keys, 1, 0, 3);
  REQUIRE(elsewhere);
  CHECK(layout.find(tensors::k)->label.contains(elsewhere->points.front()));

  flight.hbm_bytes = 0;
  const auto hit = flight_path(layout, flight, keys, 1, 0, 0);
  REQUIRE(hit);
  CHECK(layout.l2.contains(hit->points.front()));
  CHECK(hit->length() < load->length());

  flight.sm = 2;
  const auto other = flight_path(layout, flight, keys, 1, 0, 0);
  REQUIRE(other);
  CHECK(layout.sms[1].box.contains(other->points.back()));

  flight.tile.tensor = tensors::o;
  flight.chip_tile = tiles::o;
  flight.sm = 1;
  flight.to_sm = false;
  const auto store =
      flight_path(layout, flight, tensor_layout(simulation->program->problem(), simulation->program->tile(), tensors::o), 1, 0, 0);
  REQUIRE(store);
  CHECK(near(store->points.front(), layout.find(tiles::o)->cells.center()));
  CHECK(layout.l2.contains(store->points.back()));
}

TEST_CASE("flight path: a mark crosses no buffer but its own, and no tensor's name") {
  const auto simulation = run("flash2");
  StageMetrics metrics;  // of the theme
  metrics.padding = 14;
  metrics.gap = 10;
  const StageLayout layout = layout_stage({{0, 0}, {900, 640}}, simulation->request.gpu,
                                          program_shape(*simulation->info, *simulation->program, 0), 1, metrics);
  const float half = 8;  // of a mark
  for (const ChipTile chip_tile : {tiles::q, tiles::k, tiles::v})
    for (const int ring : {0, 1}) {
      TileInFlight flight;
      const Tensor tensor = chip_tile.tensor();
      flight.tile = {tensor, 0, 16, 16, 0, 16};
      flight.sm = 1;
      flight.chip_tile = chip_tile;
      flight.bytes = flight.hbm_bytes = 512;
      const auto path = flight_path(layout, flight,
                                    tensor_layout(simulation->program->problem(), simulation->program->tile(), tensor), 1, ring, 0);
      REQUIRE(path);
      CAPTURE(to_string(chip_tile));
      CAPTURE(ring);
      const ChipTileBox* own = layout.find(chip_tile, ring);
      REQUIRE(own);
      for (int i = 0; i <= 400; ++i) {
        const ImVec2 at = path->at(path->length() * static_cast<float>(i) / 400);
        const Rect mark = {{at.x - half, at.y - half}, {at.x + half, at.y + half}};
        for (const ChipTileBox& box : layout.chip_tiles)
          if (&box != own && box.shared) CHECK_FALSE(mark.overlaps(box.cells));
        for (const TensorBox& box : layout.tensors) {
          const Rect name = {box.label.min, {box.label.min.x + 0.6F * box.label.width(), box.label.max.y - 1}};
          CHECK_FALSE(mark.overlaps(name));
        }
      }
    }
}

TEST_CASE("flight path: a tile is drawn in its tensor's lane or on its SM's port, never across the L2") {
  const auto simulation = run("flash2");
  const StageLayout layout = layout_of(*simulation, 1);
  TileInFlight flight;
  flight.chip_tile = tiles::v;
  flight.bytes = 512;
  const TensorBox& lane = *layout.find(tensors::v);
  for (const std::int64_t hbm_bytes : {0, 512})
    for (const int sm : {0, 1, 2, 3})
      for (const bool to_sm : {true, false}) {
        flight.tile = {tensors::v, 0, 16, 16, 0, 16};
        flight.sm = sm;
        flight.to_sm = to_sm;
        flight.hbm_bytes = to_sm ? hbm_bytes : 0;
        const auto path = flight_path(
            layout, flight, tensor_layout(simulation->program->problem(), simulation->program->tile(), tensors::v), 1, 0, 0);
        REQUIRE(path);
        for (int i = 0; i <= 100; ++i) {
          const ImVec2 at = path->at(path->length() * static_cast<float>(i) / 100);
          if (at.y <= layout.l2.min.y || at.y >= layout.l2.max.y) continue;
          CHECK(at.x >= lane.cells.min.x);
          CHECK(at.x <= lane.cells.max.x);
        }
      }
}

TEST_CASE("flight path: without an L2 a tile goes straight from HBM to its SM") {
  const auto simulation = run("flash2", {}, textbook_gpu());
  const StageLayout layout = layout_of(*simulation);
  TileInFlight flight;
  flight.tile = {tensors::v, 0, 0, 16, 0, 16};
  flight.chip_tile = tiles::v;
  const auto path =
      flight_path(layout, flight, tensor_layout(simulation->program->problem(), simulation->program->tile(), tensors::v), 0, 0, 0);
  REQUIRE(path);
  CHECK(layout.find(tensors::v)->cells.contains(path->points.front()));
  CHECK(near(path->points.back(), layout.find(tiles::v)->cells.center()));
}

TEST_CASE("names: subscripts and tiles") {
  CHECK(subscript(0) == "₀");
  CHECK(subscript(127) == "₁₂₇");
  const AttentionProblem problem;
  const TileShape tile{16, 16};
  CHECK(tile_name(tensor_layout(problem, tile, tensors::k), {tensors::k, 0, 48, 16, 0, 16}) == "K₃");
  CHECK(tile_name(tensor_layout(problem, tile, tensors::s), {tensors::s, 0, 16, 16, 48, 16}) == "S₁,₃");
}

}  // namespace tilescope
