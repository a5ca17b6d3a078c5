// The trace: order, repeatability, random access, steps at three grains, buffers and flights.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/refocused.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/engine/fake_program.h"

using namespace tilescope;

namespace {

using Run = std::shared_ptr<const Simulation>;

Run run(std::string_view algorithm, const GpuSpec& gpu, const AttentionProblem& problem, int focus = 0) {
  SimulationRequest request;
  request.algorithm = std::string(algorithm);
  request.gpu = gpu;
  request.problem = problem;
  request.focus_sm = focus;
  const auto result = simulate(request);
  if (!result) FAIL(std::string(algorithm), ": ", result.error().sentence);
  return *result;
}

AttentionProblem traced_problem(std::int64_t heads, std::int64_t n, std::int64_t d, bool causal = false) {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = heads;
  problem.seq_q = problem.seq_kv = n;
  problem.head_dim = d;
  problem.causal = causal;
  return problem;
}

class Hash {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    std::uint64_t bits = 0;
    static_assert(sizeof(T) <= sizeof(bits));
    std::memcpy(&bits, &value, sizeof(T));
    hash_ = (hash_ ^ bits) * 0x9e3779b97f4a7c15U;
    hash_ ^= hash_ >> 32;
  }
  void add(const TileRef& t) { add(t.tensor.index()), add(t.plane), add(t.row), add(t.rows), add(t.col), add(t.cols); }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

std::uint64_t hash_of(const TraceState& s) {
  Hash h;
  h.add(s.step), h.add(s.cycle), h.add(s.launch), h.add(s.run), h.add(s.op), h.add(s.interval.has_value()), h.add(s.traffic_exact);
  if (s.interval) {
    const Interval& i = *s.interval;
    h.add(i.start), h.add(i.end), h.add(i.ready), h.add(i.run), h.add(i.op), h.add(i.kind), h.add(i.unit), h.add(i.cause),
        h.add(i.bytes);
    h.add(i.hbm_bytes);
  }
  for (const SmState& sm : s.sms) h.add(sm.run), h.add(sm.resident), h.add(sm.progress), h.add(sm.busy_units);
  for (const TileInFlight& f : s.flights) {
    h.add(f.tile);
    h.add(f.to_sm), h.add(f.progress), h.add(f.sm), h.add(f.chip_tile.index()), h.add(f.bytes), h.add(f.hbm_bytes);
  }
  for (const ChipTileState& f : s.chip_tiles) {
    h.add(f.chip_tile.index()), h.add(f.ring), h.add(f.run), h.add(f.valid), h.add(f.arriving), h.add(f.progress);
    h.add(f.tile);
  }
  for (const auto& row : s.traffic)
    for (std::int64_t bytes : row) h.add(bytes);
  for (std::int64_t bytes : s.l2.resident) h.add(bytes);
  for (std::int64_t bytes : s.l2.copies) h.add(bytes);
  for (std::int64_t bytes : s.l2.dirty) h.add(bytes);
  return h.value();
}

std::uint64_t hash_of(const Trace& trace) {
  Hash h;
  for (const BlockRun& r : trace.runs()) h.add(r.launch), h.add(r.sm), h.add(r.slot), h.add(r.block), h.add(r.start), h.add(r.end);
  for (int sm : trace.focused_sms())
    for (const Interval& i : trace.intervals(sm))
      h.add(i.start), h.add(i.end), h.add(i.ready), h.add(i.run), h.add(i.op), h.add(i.cause);
  return h.value();
}

/// Whether no byte count of `a` is above that of `b`.
bool none_above(const TrafficTable& a, const TrafficTable& b) {
  for (std::size_t t = 0; t < most_tensors; ++t)
    for (std::size_t l = 0; l < link_count; ++l)
      if (a[t][l] > b[t][l]) return false;
  return true;
}

}  // namespace

TEST_CASE("trace: SMs that are asked for beside the one in focus are kept as they would be in focus, and no number changes") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = h200_gpu();
  request.problem = traced_problem(32, 1024, 64);
  const auto alone = simulate(request);
  request.also_in_focus = {40, 7};
  const auto several = simulate(request);
  REQUIRE(alone);
  REQUIRE(several);
  const auto focused = (*several)->trace->focused_sms();
  CHECK(std::vector<int>(focused.begin(), focused.end()) == std::vector<int>{0, 7, 40});
  CHECK((*several)->cycles.value == (*alone)->cycles.value);
  CHECK((*several)->ledger.table() == (*alone)->ledger.table());
  for (const int sm : {0, 7, 40}) {
    CAPTURE(sm);
    const auto expected = run("flash2", request.gpu, request.problem, sm);
    CHECK(!expected->trace->intervals(sm).empty());
    CHECK((*several)->trace->step_count(sm) == expected->trace->step_count(sm));
    for (std::int64_t step = 0; step <= expected->trace->step_count(sm); step += 37) {
      const TraceState a = (*several)->trace->state_at(sm, step), b = expected->trace->state_at(sm, step);
      CHECK(a.cycle == b.cycle);
      CHECK(a.op == b.op);
      CHECK(a.run == b.run);
    }
  }
}

TEST_CASE("trace: a simulation seen from another SM that it kept is the same as one with that SM in focus, bit by bit") {
  SimulationRequest request;
  request.gpu = h200_gpu();
  for (const std::string algorithm : {"flash2", "flash1", "standard"}) {
    CAPTURE(algorithm);
    request.algorithm = algorithm;
    request.problem = traced_problem(64, 512, 64);
    request.also_in_focus = {40, 7};
    const auto several = simulate(request);
    REQUIRE(several);
    CHECK(refocused(*several, 8) == nullptr);
    for (const int sm : {0, 7, 40}) {
      CAPTURE(sm);
      const auto seen = refocused(*several, sm);
      REQUIRE(seen != nullptr);
      const auto expected = run(algorithm, request.gpu, request.problem, sm);
      CHECK(seen->request.focus_sm == sm);
      CHECK(seen->request.also_in_focus.empty());
      CHECK(seen->ledger.entries().size() == expected->ledger.entries().size());
      CHECK(seen->ledger.table() == expected->ledger.table());
      CHECK(seen->cycles.value == expected->cycles.value);
      CHECK(seen->time.value == expected->time.value);
      CHECK(seen->flops == expected->flops);
      CHECK(seen->exps == expected->exps);
      CHECK(seen->bound == expected->bound);
      CHECK(seen->utilisation == expected->utilisation);
      CHECK(seen->peak_hbm.value == expected->peak_hbm.value);
      CHECK(seen->extra_hbm.value == expected->extra_hbm.value);
      CHECK(seen->hbm_write_after_flush.value == expected->hbm_write_after_flush.value);
      CHECK(seen->launches.size() == expected->launches.size());
      const Trace &a = *seen->trace, &b = *expected->trace;
      CHECK(std::vector<int>(a.focused_sms().begin(), a.focused_sms().end()) == std::vector<int>{sm});
      CHECK(a.intervals(sm == 7 ? 40 : 7).empty());
      REQUIRE(a.step_count(sm) == b.step_count(sm));
      for (std::int64_t step = 0; step <= b.step_count(sm); step += 23) {
        CHECK(a.state_at(sm, step) == b.state_at(sm, step));
        const double between = b.state_at(sm, step).cycle + 3.25;
        CHECK(a.state_at_cycle(sm, between) == b.state_at_cycle(sm, between));
        CHECK(a.seek(sm, step, Grain::tile, 1) == b.seek(sm, step, Grain::tile, 1));
      }
    }
  }
}

TEST_CASE("trace: 100,000 seeks at random give the same bits as walking forward and as walking back") {
  const unsigned seed = 31337;
  std::mt19937 random(seed);
  for (std::string_view id : {"flash2", "standard", "flash1"}) {
    INFO(std::string(id), " seed ", seed);
    const Run simulation = run(id, toy_gpu(), traced_problem(2, 96, 16, true));
    const Trace& trace = *simulation->trace;
    for (int sm : trace.focused_sms()) {
      const std::int64_t count = trace.step_count(sm);
      std::vector<std::uint64_t> forward;
      for (std::int64_t step = 0; step <= count; ++step) forward.push_back(hash_of(trace.state_at(sm, step)));
      int differ = 0;
      for (std::int64_t step = count; step >= 0; --step)
        differ += hash_of(trace.state_at(sm, step)) != forward[static_cast<std::size_t>(step)];
      for (int i = 0; i < 100000 / 12; ++i) {
        const std::size_t step = random() % forward.size();
        differ += hash_of(trace.state_at(sm, static_cast<std::int64_t>(step))) != forward[step];
      }
      CHECK(differ == 0);
    }
  }
}

TEST_CASE("trace: the same request gives the same trace, and one SM's intervals do not depend on who is in focus") {
  const AttentionProblem problem = traced_problem(4, 512, 64);
  const Run a = run("flash2", h200_gpu(), problem, 5), b = run("flash2", h200_gpu(), problem, 5),
            c = run("flash2", h200_gpu(), problem, 0);
  CHECK(hash_of(*a->trace) == hash_of(*b->trace));
  CHECK(a->cycles == c->cycles);
  REQUIRE(a->trace->focused_sms().size() == 1);
  CHECK(a->trace->focused_sms()[0] == 5);
  CHECK_FALSE(a->trace->intervals(5).empty());
  CHECK(a->trace->intervals(0).empty());
  CHECK(a->trace->step_count(0) == 0);
  for (std::size_t i = 0; i < a->trace->runs().size(); ++i) CHECK(a->trace->runs()[i].end == c->trace->runs()[i].end);
}

TEST_CASE("trace: for every program, everything is in order and no unit does two things at once") {
  for (const ProgramInfo& info : program_table())
    for (bool causal : {false, true}) {
      SimulationRequest request;
      request.algorithm = std::string(info.id);
      request.gpu = toy_gpu();
      request.problem = traced_problem(2, 70, 24, causal);
      const auto result = simulate(request);
      if (!result) continue;  // no mask
      const Trace& trace = *(*result)->trace;
      INFO(std::string(info.id), " causal ", causal);
      std::int64_t blocks = 0, operations = 0;
      for (const LaunchSpec& launch : (*result)->program->launches()) blocks += launch.blocks();
      CHECK(static_cast<std::int64_t>(trace.runs().size()) == blocks);
      bool runs_ordered = true, intervals_ordered = true, causes_agree = true, inside_blocks = true, units_apart = true,
           instants_first = true;
      double last_start = 0;
      for (const BlockRun& block : trace.runs()) {
        runs_ordered = runs_ordered && block.start >= last_start && block.end >= block.start;
        last_start = block.start;
      }
      for (int sm : trace.focused_sms()) {
        std::array<double, unit_count> free{};
        std::map<std::pair<std::int32_t, int>, double> waited;  // by block and group: several can wait at once
        double start = 0;
        bool last_lasts = false;
        for (const Interval& interval : trace.intervals(sm)) {
          ++operations;
          intervals_ordered =
              intervals_ordered && interval.start >= start && interval.ready <= interval.start && interval.end >= interval.start;
          // Of operations that begin together, those without length come first.
          const bool lasts = interval.end > interval.start;
          instants_first = instants_first && (interval.start > start || lasts || !last_lasts);
          last_lasts = lasts;
          start = interval.start;
          causes_agree = causes_agree && (interval.cause == WaitCause::none) == (interval.start == interval.ready);
          const BlockRun& block = trace.runs()[static_cast<std::size_t>(interval.run)];
          inside_blocks = inside_blocks && block.sm == sm && interval.start >= block.start && interval.end <= block.end;
          if (interval.unit == Unit::copy || interval.unit == Unit::store) continue;
          double& unit =
              interval.unit == Unit::sync ? waited[{interval.run, interval.group}] : free[static_cast<std::size_t>(interval.unit)];
          units_apart = units_apart && interval.start >= unit;
          unit = interval.end;
        }
      }
      BlockOperations block;
      for (const BlockRun& r : trace.runs()) {
        (*result)->program->emit_block(r.launch, r.block, block);
        operations -= static_cast<std::int64_t>(block.operations.size());
      }
      CHECK(operations == 0);  // each once
      CHECK(runs_ordered);
      CHECK(intervals_ordered);
      CHECK(instants_first);
      CHECK(causes_agree);
      CHECK(inside_blocks);
      CHECK(units_apart);
    }
}

TEST_CASE("trace: steps never run backward, traffic never shrinks, and the last step has all of it") {
  for (std::string_view id : {"flash2", "standard", "flash1", "softmax_online"}) {
    const Run simulation = run(id, toy_gpu(), traced_problem(1, 64, 16));
    const Trace& trace = *simulation->trace;
    INFO(std::string(id));
    for (int sm : trace.focused_sms()) {
      TraceState before = trace.state_at(sm, 0);
      CHECK(before.cycle == 0);
      CHECK(before.run == -1);
      CHECK(before.op == -1);
      CHECK_FALSE(before.interval);
      CHECK(before.chip_tiles.empty());
      CHECK(before.flights.empty());
      CHECK(before.traffic == TrafficTable{});
      for (std::int64_t step = 1; step <= trace.step_count(sm); ++step) {
        const TraceState now = trace.state_at(sm, step);
        CHECK(now.cycle >= before.cycle);
        CHECK(now.cycle == now.interval->end);
        CHECK(now.traffic_exact);
        CHECK(none_above(before.traffic, now.traffic));
        CHECK(trace.step_at_cycle(sm, now.cycle) >= step);
        CHECK(trace.state_at_cycle(sm, now.cycle).traffic == now.traffic);
        before = now;
      }
    }
    const TraceState end = trace.state_at_cycle(0, trace.end_cycle());
    CHECK(end.traffic == simulation->ledger.table());
    std::int64_t dirty = 0;
    for (std::int64_t bytes : end.l2.dirty) dirty += bytes;
    CHECK(simulation->ledger.total(Link::hbm_write).value + dirty == simulation->hbm_write_after_flush.value);
  }
}

TEST_CASE("trace: seeking by tile and by phase stops where iterations and launches begin, the same forward and back") {
  const Run simulation = run("standard", toy_gpu(), traced_problem(1, 64, 16));
  const Trace& trace = *simulation->trace;
  const std::int64_t count = trace.step_count(0);
  for (Grain grain : {Grain::operation, Grain::tile, Grain::phase}) {
    std::vector<std::int64_t> up = {0}, down = {count};
    while (up.back() < count) up.push_back(trace.seek(0, up.back(), grain, +1));
    while (down.back() > 0) down.push_back(trace.seek(0, down.back(), grain, -1));
    std::reverse(down.begin(), down.end());
    CHECK(up == down);
    CHECK(trace.seek(0, count, grain, +1) == count);
    CHECK(trace.seek(0, 0, grain, -1) == 0);
    CHECK(trace.seek(0, -5, grain, -1) == 0);
    CHECK(trace.seek(0, count + 5, grain, +1) == count);
    if (grain == Grain::operation) CHECK(static_cast<std::int64_t>(up.size()) == count + 1);
    if (grain != Grain::phase) continue;
    REQUIRE(up.size() == 5);  // the start, three launches, the end
    for (int launch = 0; launch < 3; ++launch) {
      const std::int64_t step = up[static_cast<std::size_t>(launch) + 1];
      CHECK(trace.state_at(0, step).launch == launch);
      CHECK((step == 1 || trace.state_at(0, step - 1).launch == launch - 1));
    }
  }
}

TEST_CASE("trace: a buffer is arriving while its load is in the air, then holds the tile") {
  const auto result = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    const int load = add(out, load_k(32, 16, 1));  // 100 … 608
    add_after(out, load, matmul(512 * 40));        // 608 … 648
    add(out, store_o(0, 16));                      // 648 … 864
  });
  REQUIRE(result);
  const Trace& trace = *(*result)->trace;
  CHECK(trace.state_at_cycle(0, 100).flights.empty());
  const TraceState flying = trace.state_at_cycle(0, 354);
  REQUIRE(flying.flights.size() == 1);
  CHECK(flying.flights[0].progress == 0);  // latency: it waits
  CHECK(flying.flights[0].to_sm);
  CHECK(flying.flights[0].hbm_bytes == 512);
  CHECK(flying.flights[0].chip_tile == tiles::k);
  REQUIRE(flying.chip_tiles.size() == 1);
  CHECK(flying.chip_tiles[0].chip_tile == tiles::k);
  CHECK(flying.chip_tiles[0].ring == 1);
  CHECK(flying.chip_tiles[0].arriving);
  CHECK_FALSE(flying.chip_tiles[0].valid);
  CHECK(flying.chip_tiles[0].progress == 0);
  CHECK(flying.chip_tiles[0].tile == TileRef{tensors::k, 0, 32, 16, 0, 16});
  CHECK(flying.chip_tiles[0].op == 0);  // the load
  CHECK(flying.sms[0].resident == 1);
  CHECK(flying.sms[0].run == 0);
  CHECK(flying.sms[0].busy_units == 1U << static_cast<int>(Unit::copy));
  CHECK(flying.sms[1].resident == 0);
  CHECK(flying.sms[1].run == -1);
  CHECK(flying.traffic == TrafficTable{});
  const float streams = trace.intervals(0)[0].streams;
  REQUIRE(streams > 1);
  REQUIRE(streams < 508);
  const TraceState streaming = trace.state_at_cycle(0, 608 - streams / 2);
  CHECK(streaming.flights[0].progress == doctest::Approx(0.5));
  CHECK(streaming.chip_tiles[0].progress == doctest::Approx(0.5));
  for (const Link link : {Link::hbm_read, Link::l2_to_sm})  // what is in the buffer is what the counters count
    CHECK(streaming.traffic[Tensor(tensors::k).index()][static_cast<std::size_t>(link)] == 256);
  const TraceState landed = trace.state_at(0, 1);
  CHECK(landed.cycle == 608);
  CHECK(landed.flights.empty());
  REQUIRE(landed.chip_tiles.size() == 1);
  CHECK(landed.chip_tiles[0].valid);
  CHECK_FALSE(landed.chip_tiles[0].arriving);
  CHECK(landed.traffic[Tensor(tensors::k).index()][static_cast<std::size_t>(Link::hbm_read)] == 512);
  CHECK(landed.l2.resident[Tensor(tensors::k).index()] == 512);
  const TraceState computing = trace.state_at_cycle(0, 628);
  REQUIRE(computing.chip_tiles.size() == 2);
  CHECK(computing.chip_tiles[1].op == 1);
  CHECK(computing.chip_tiles[1].chip_tile == tiles::s);
  CHECK(computing.chip_tiles[1].arriving);
  CHECK(computing.sms[0].busy_units == 1U << static_cast<int>(Unit::tensor));
  const TraceState leaving = trace.state_at_cycle(0, 864 - trace.intervals(0)[2].streams / 2);
  REQUIRE(leaving.flights.size() == 1);
  CHECK_FALSE(leaving.flights[0].to_sm);
  CHECK(leaving.flights[0].chip_tile == tiles::o);
  CHECK(leaving.flights[0].progress == doctest::Approx(0.5));
  const TraceState end = trace.state_at_cycle(0, 1e9);
  CHECK(end.cycle == 864);
  CHECK(end.step == 3);
  CHECK(end.l2.dirty[Tensor(tensors::o).index()] == 512);
}

TEST_CASE("trace: a tile that has landed is in flight no more") {
  const Run simulation = run("flash2", toy_gpu(), traced_problem(2, 128, 32));
  std::size_t others = 0;
  for (const Interval& interval : simulation->trace->intervals(0)) {
    if (interval.kind != OpKind::load) continue;
    const TraceState landed = simulation->trace->state_at_cycle(0, interval.end);
    for (const TileInFlight& flight : landed.flights)
      if (flight.sm == 0) CHECK(flight.progress < 1), ++others;
  }
  CHECK(others > 10);
}

TEST_CASE("trace: at real sizes traffic is read from bins, rises, and is exact at the end") {
  const Run simulation = run("standard", h200_gpu(), traced_problem(8, 2048, 64), 7);
  const Trace& trace = *simulation->trace;
  TrafficTable before{};
  for (int i = 0; i <= 500; ++i) {
    const TraceState now = trace.state_at_cycle(7, trace.end_cycle() * i / 500);
    CHECK(none_above(before, now.traffic));
    CHECK(now.traffic_exact == (i == 500));
    before = now.traffic;
  }
  CHECK(before == simulation->ledger.table());
}

TEST_CASE("trace: at real sizes the L2 holds, in the middle of a bin, the mean of what it holds at both ends") {
  const Run simulation = run("standard", h200_gpu(), traced_problem(8, 2048, 64), 7);
  const TimeBins& bins = simulation->trace->bins();
  std::int64_t changes = 0;
  for (std::size_t bin = 1; bin < bins.l2.size(); bin += 50) {
    const TraceState middle = simulation->trace->state_at_cycle(7, (static_cast<double>(bin) + 0.5) * bins.width);
    if (middle.traffic_exact) break;  // the run ends in this bin
    const auto is_mean = [&](std::int64_t now, std::int64_t before, std::int64_t after) {
      changes += before != after;
      return std::abs(2 * now - (before + after)) <= 1;
    };
    for (std::size_t t = 0; t < most_tensors; ++t) {
      CHECK(is_mean(middle.l2.resident[t], bins.l2[bin - 1].resident[t], bins.l2[bin].resident[t]));
      CHECK(is_mean(middle.l2.copies[t], bins.l2[bin - 1].copies[t], bins.l2[bin].copies[t]));
      CHECK(is_mean(middle.l2.dirty[t], bins.l2[bin - 1].dirty[t], bins.l2[bin].dirty[t]));
    }
  }
  CHECK(changes > 20);
}

TEST_CASE("trace: any step of a real size is found within a millisecond") {
  const Run simulation = run("flash2", h200_gpu(), traced_problem(16, 8192, 128), 0);
  const Trace& trace = *simulation->trace;
  const auto count = static_cast<std::uint64_t>(trace.step_count(0));
  CHECK(count > 10000);
  std::vector<double> times;
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const auto step = static_cast<std::int64_t>(random() % (count + 1));
    const auto begin = std::chrono::steady_clock::now();
    const TraceState state = trace.state_at(0, step);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    CHECK(state.step == step);
  }
  // The median, because a machine that is busy with other things stops any thread for milliseconds now and then.
  std::nth_element(times.begin(), times.begin() + 1000, times.end());
  CHECK(times[1000] < 1.0);
}

TEST_CASE("trace: past its budget of intervals only the SM asked for stays in focus, and everything else stays complete") {
  const Run simulation = run("flash2", toy_gpu(), traced_problem(4, 4096, 16), 2);
  const Trace& trace = *simulation->trace;
  REQUIRE(trace.focused_sms().size() == 1);
  CHECK(trace.focused_sms()[0] == 2);
  CHECK(trace.step_count(2) > 400'000);
  CHECK(trace.step_count(0) == 0);
  CHECK(trace.runs().size() == 4 * 256);
  const TraceState end = trace.state_at_cycle(2, trace.end_cycle());
  CHECK(end.traffic == simulation->ledger.table());
  const TraceState middle = trace.state_at(2, trace.step_count(2) / 2);
  CHECK(middle.sms[0].resident > 0);
  CHECK(middle.sms[0].busy_units == 0);
  CHECK(middle.sms[2].busy_units != 0);
  CHECK_FALSE(middle.chip_tiles.empty());
}
