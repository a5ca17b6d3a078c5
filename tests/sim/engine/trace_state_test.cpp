// The state at a moment, held against one that is put together from all intervals and blocks of the trace, one after another.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/simulation.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> simulated(std::string_view algorithm, std::int64_t heads, std::int64_t n, std::int64_t d) {
  SimulationRequest request;
  request.algorithm = std::string(algorithm);
  request.gpu = toy_gpu();
  request.problem = {.heads = heads, .kv_heads = heads, .seq_q = n, .seq_kv = n, .head_dim = d};
  const auto result = simulate(request);
  REQUIRE_MESSAGE(result, (result ? "" : result.error().sentence));
  return *result;
}

double part_of_time(double cycle, double start, double end) {
  return cycle >= end ? 1 : (cycle - start) / (end - start);
}
/// A transfer's bytes cross in its last cycles.
double part_of_bytes(double cycle, const Interval& i) {
  if (cycle >= i.end) return 1;
  const double left = (i.end - cycle) / i.streams;
  return i.streams > 0 && left < 1 ? 1 - left : 0;
}

/// The operations of each block that ran, emitted once.
class Blocks {
 public:
  explicit Blocks(const Simulation& simulation) {
    for (const BlockRun& run : simulation.trace->runs())
      simulation.program->emit_block(run.launch, run.block, blocks_.emplace_back());
  }
  const BlockOperations& of(std::int32_t run) const { return blocks_[static_cast<std::size_t>(run)]; }
  const Operation& operation(const Interval& i) const { return of(i.run).operations[static_cast<std::size_t>(i.op)]; }

 private:
  std::vector<BlockOperations> blocks_;
};

void check_sms(const Trace& trace, const TraceState& state) {
  for (int sm = 0; sm < 4; ++sm) {
    const SmState& shown = state.sms[static_cast<std::size_t>(sm)];
    std::int32_t first = -1, count = 0;
    unsigned units = 0;
    for (std::size_t r = 0; r < trace.runs().size(); ++r) {
      const BlockRun& run = trace.runs()[r];
      if (run.sm != sm || run.start >= state.cycle || run.end < state.cycle) continue;
      if (count++ == 0) first = static_cast<std::int32_t>(r);
    }
    for (const Interval& i : trace.intervals(sm))
      if (i.start < state.cycle && i.end >= state.cycle) units |= 1U << static_cast<unsigned>(i.unit);
    CHECK(shown.run == first);
    CHECK(shown.resident == count);
    CHECK(shown.busy_units == units);
    if (first < 0) continue;
    const BlockRun& run = trace.runs()[static_cast<std::size_t>(first)];
    CHECK(shown.progress == doctest::Approx(part_of_time(state.cycle, run.start, run.end)));
  }
}

std::size_t check_flights(const Trace& trace, const Blocks& blocks, const TraceState& state) {
  std::size_t count = 0;
  for (int sm = 0; sm < 4; ++sm)
    for (const Interval& i : trace.intervals(sm)) {
      if (!moves_tile(i.kind) || i.start >= state.cycle || i.end <= state.cycle) continue;
      REQUIRE(count < state.flights.size());
      const TileInFlight& flight = state.flights[count++];
      const Operation& op = blocks.operation(i);
      CHECK(flight.tile == op.tile);
      CHECK(flight.to_sm == (i.kind == OpKind::load));
      CHECK(flight.progress == doctest::Approx(part_of_bytes(state.cycle, i)));
      CHECK(flight.sm == sm);
      CHECK(flight.chip_tile == (i.kind == OpKind::load ? op.dst : op.src[0]));
      CHECK(flight.bytes == op.bytes);
      CHECK(flight.hbm_bytes == i.hbm_bytes);
    }
  CHECK(count == state.flights.size());
  return count;
}

std::size_t check_chip_tiles(const Trace& trace, const Blocks& blocks, const TraceState& state, int sm) {
  // By block, on-chip tile and buffer: what has begun to write it, in the order of the block's operations.
  std::map<std::tuple<std::int32_t, std::size_t, std::int32_t>, std::map<std::int32_t, Interval>> written;
  for (const Interval& i : trace.intervals(sm)) {
    const BlockRun& run = trace.runs()[static_cast<std::size_t>(i.run)];
    const Operation& op = blocks.operation(i);
    if ((i.start >= state.cycle && i.end > state.cycle) || run.start >= state.cycle || run.end < state.cycle) continue;
    if (writes_memory(op.kind) || op.dst == ChipTile::none) continue;
    const bool has_buffers = op.kind == OpKind::load || is_shared(blocks.of(i.run), op.dst) || op.dst.has_strips();
    written[{i.run, op.dst.index(), has_buffers ? buffer_of(op, op.dst) : 0}].emplace(i.op, i);
  }
  REQUIRE(state.chip_tiles.size() == written.size());
  std::size_t at = 0;
  for (const auto& [place, writers] : written) {
    const Interval& last = writers.rbegin()->second;
    const ChipTileState& chip_tile = state.chip_tiles[at++];
    const bool arrives = last.end > state.cycle, loads = last.kind == OpKind::load;
    CHECK(chip_tile.run == std::get<0>(place));
    CHECK(chip_tile.chip_tile.index() == std::get<1>(place));
    CHECK(chip_tile.ring == std::get<2>(place));
    CHECK(chip_tile.op == last.op);
    CHECK(chip_tile.tile == blocks.operation(last).tile);
    CHECK(chip_tile.arriving == arrives);
    // A load overwrites what was there. An operation works on it.
    CHECK(chip_tile.valid == (!arrives || (!loads && writers.size() > 1)));
    CHECK(chip_tile.progress == doctest::Approx(!arrives ? 1
                                                : loads  ? part_of_bytes(state.cycle, last)
                                                         : part_of_time(state.cycle, last.start, last.end)));
  }
  return at;
}

}  // namespace

TEST_CASE("trace: blocks, units, tiles in flight and buffers at any moment are those of the intervals") {
  std::mt19937 random(7);
  for (const std::string_view algorithm : {"flash2", "flash1", "standard", "softmax_online", "matmul_tiled"}) {
    CAPTURE(algorithm);
    const auto simulation = simulated(algorithm, 5, 96, 16);
    const Trace& trace = *simulation->trace;
    const Blocks blocks(*simulation);
    std::size_t flights = 0, chip_tiles = 0;
    for (int n = 0; n < 60; ++n) {
      const int sm = n % 4;
      const std::span<const Interval> intervals = trace.intervals(sm);
      const Interval& any = intervals[random() % intervals.size()];
      // At the ends of an operation, inside it, and anywhere.
      const double moments[] = {any.start, any.end, (any.start + any.end) / 2,
                                trace.end_cycle() * static_cast<double>(random() % 1000) / 1000};
      const double cycle = moments[n / 4 % 4];
      const TraceState state = trace.state_at_cycle(sm, cycle);
      CAPTURE(cycle);
      CAPTURE(sm);
      CHECK(state.cycle == cycle);
      int launch = 0;
      for (std::size_t l = 0; l < trace.launches().size(); ++l)
        if (trace.launches()[l].start <= cycle) launch = static_cast<int>(l);
      CHECK(state.launch == launch);
      std::int64_t ended = 0;
      for (const Interval& i : intervals) ended += i.end <= cycle ? 1 : 0;
      CHECK(state.step == ended);
      CHECK(trace.step_at_cycle(sm, cycle) == ended);
      check_sms(trace, state);
      flights += check_flights(trace, blocks, state);
      chip_tiles += check_chip_tiles(trace, blocks, state, sm);
    }
    CHECK(flights > 20);
    CHECK(chip_tiles > 20);
  }
}

TEST_CASE("trace: steps are the operations by their ends, and tiles and launches begin where the operations say so") {
  for (const std::string_view algorithm : {"flash2", "standard"}) {
    CAPTURE(algorithm);
    const auto simulation = simulated(algorithm, 4, 64, 16);
    const Trace& trace = *simulation->trace;
    const Blocks blocks(*simulation);
    for (int sm = 0; sm < 4; ++sm) {
      const std::span<const Interval> intervals = trace.intervals(sm);
      std::vector<std::size_t> by_end(intervals.size());
      for (std::size_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
      std::stable_sort(by_end.begin(), by_end.end(),
                       [&](std::size_t a, std::size_t b) { return intervals[a].end < intervals[b].end; });
      std::vector<std::int64_t> step_of(intervals.size());
      for (std::size_t i = 0; i < by_end.size(); ++i) {
        const auto step = static_cast<std::int64_t>(i) + 1;
        step_of[by_end[i]] = step;
        CHECK(trace.step_of_interval(sm, by_end[i]) == step);
        const TraceState state = trace.state_at(sm, step);
        CHECK(state.step == step);
        CHECK(state.run == intervals[by_end[i]].run);
        CHECK(state.op == intervals[by_end[i]].op);
        CHECK(state.launch == trace.runs()[static_cast<std::size_t>(state.run)].launch);
      }
      // A tile iteration begins with its first operation that is no load; a phase with the first step of a launch.
      std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> ordered;
      for (std::size_t i = 0; i < intervals.size(); ++i) ordered[{intervals[i].run, intervals[i].op}] = i;
      std::vector<std::int64_t> tiles, phases;
      std::pair<std::int32_t, std::int32_t> current{-1, -1};
      for (const auto& [at, i] : ordered) {
        if (intervals[i].kind == OpKind::load) continue;
        const std::pair<std::int32_t, std::int32_t> now{at.first, blocks.operation(intervals[i]).iteration};
        if (now != current) tiles.push_back(step_of[i]);
        current = now;
      }
      std::sort(tiles.begin(), tiles.end());
      std::int32_t launch = -1;
      for (std::size_t i = 0; i < by_end.size(); ++i)
        if (const std::int32_t now = trace.runs()[static_cast<std::size_t>(intervals[by_end[i]].run)].launch;
            std::exchange(launch, now) != now)
          phases.push_back(static_cast<std::int64_t>(i) + 1);
      const std::int64_t count = trace.step_count(sm);
      REQUIRE(count == static_cast<std::int64_t>(intervals.size()));
      for (std::int64_t from = 0; from <= count; ++from)
        for (const Grain grain : {Grain::tile, Grain::phase}) {
          const std::vector<std::int64_t>& begins = grain == Grain::tile ? tiles : phases;
          std::int64_t next = count, before = 0;
          for (const std::int64_t step : begins) {
            if (step > from) next = std::min(next, step);
            if (step < from) before = std::max(before, step);
          }
          CHECK(trace.seek(sm, from, grain, 1) == next);
          CHECK(trace.seek(sm, from, grain, -1) == before);
          CHECK(trace.seek(sm, from, grain, 0) == from);
        }
    }
  }
}

TEST_CASE("trace: two states are equal only if every part of them is, of each list every entry, and the lists are as long") {
  TraceState state;
  state.step = 4;
  state.cycle = 70;
  state.launch = 1;
  state.run = 2;
  state.op = 3;
  state.interval = Interval{.start = 50, .end = 70, .ready = 45, .run = 2, .op = 3, .bytes = 64, .hbm_bytes = 32};
  const TileRef tile{tensors::k, 1, 16, 8, 0, 32};
  for (int n = 0; n < 3; ++n) {
    state.sms.push_back({n, 2, 0.5, 3});
    state.flights.push_back({tile, true, false, 0.25, n, tiles::k, 512, 256});
    state.chip_tiles.push_back({tiles::k, n, 2, true, true, 0.75, tile, 3});
  }
  const std::vector<std::function<void(TraceState&)>> changes = {
      [](TraceState& s) { ++s.step; },
      [](TraceState& s) { ++s.cycle; },
      [](TraceState& s) { ++s.launch; },
      [](TraceState& s) { ++s.run; },
      [](TraceState& s) { ++s.op; },
      [](TraceState& s) { s.traffic[3][1] = 32; },
      [](TraceState& s) { s.traffic_exact = false; },
      [](TraceState& s) { s.l2.resident[2] = 32; },
      [](TraceState& s) { s.l2.copies[2] = 32; },
      [](TraceState& s) { s.l2.dirty[2] = 32; },
      [](TraceState& s) { s.interval.reset(); },
      [](TraceState& s) { ++s.interval->start; },
      [](TraceState& s) { ++s.interval->end; },
      [](TraceState& s) { ++s.interval->ready; },
      [](TraceState& s) { ++s.interval->run; },
      [](TraceState& s) { ++s.interval->op; },
      [](TraceState& s) { s.interval->kind = OpKind::store; },
      [](TraceState& s) { s.interval->unit = Unit::exp; },
      [](TraceState& s) { s.interval->cause = WaitCause::hbm; },
      [](TraceState& s) { ++s.interval->bytes; },
      [](TraceState& s) { ++s.interval->hbm_bytes; },
      [](TraceState& s) { s.sms.pop_back(); },
      [](TraceState& s) { ++s.sms[1].run; },
      [](TraceState& s) { ++s.sms[2].resident; },
      [](TraceState& s) { s.sms[0].progress = 0.6; },
      [](TraceState& s) { s.sms[1].busy_units = 5; },
      [](TraceState& s) { s.flights.push_back(s.flights.back()); },
      [](TraceState& s) { ++s.flights[1].tile.row; },
      [](TraceState& s) { s.flights[2].to_sm = false; },
      [](TraceState& s) { s.flights[1].adds = true; },
      [](TraceState& s) { s.flights[0].progress = 0.5; },
      [](TraceState& s) { ++s.flights[1].sm; },
      [](TraceState& s) { s.flights[2].chip_tile = tiles::v; },
      [](TraceState& s) { ++s.flights[0].bytes; },
      [](TraceState& s) { ++s.flights[1].hbm_bytes; },
      [](TraceState& s) { s.chip_tiles.clear(); },
      [](TraceState& s) { s.chip_tiles[1].chip_tile = tiles::v; },
      [](TraceState& s) { ++s.chip_tiles[2].ring; },
      [](TraceState& s) { ++s.chip_tiles[0].run; },
      [](TraceState& s) { s.chip_tiles[1].valid = false; },
      [](TraceState& s) { s.chip_tiles[2].arriving = false; },
      [](TraceState& s) { s.chip_tiles[0].progress = 0.5; },
      [](TraceState& s) { ++s.chip_tiles[1].tile.col; },
      [](TraceState& s) { ++s.chip_tiles[2].op; },
  };
  CHECK(state == TraceState(state));
  CHECK(TraceState() == TraceState());
  for (std::size_t n = 0; n < changes.size(); ++n) {
    CAPTURE(n);
    TraceState changed = state, again = state;
    changes[n](changed);
    changes[n](again);
    CHECK_FALSE(state == changed);
    CHECK_FALSE(changed == state);
    CHECK(changed == again);
  }
}
