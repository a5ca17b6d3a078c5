// The recorder's bins against sums over everything that was recorded, one record after another.
#include "sim/engine/recorder.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/recorded_trace.h"
#include "tests/rounds.h"
#include "tests/sim/program_of.h"

using namespace tilescope;

namespace {

struct Recorded {
  std::uint32_t op_class = 0;
  double start = 0, busy_end = 0, end = 0;
};
struct Written {
  double time = 0;
  Tensor tensor;
  std::int64_t bytes = 0;
};
struct Contents {
  double time = 0;
  CacheContents l2;
};

/// Makes the classes of the operations of the first block.
void schedule_first_block(ScheduleBuilder& builder, const TileProgram& program) {
  BlockOperations block;
  BlockSchedule schedule;
  builder.begin_launch(program.launches().front().needs);
  program.emit_block(0, 0, block);
  builder.build(block, schedule);
}

/// Calls f(tensor, link, bytes) for what a class moves between an SM and the L2, and through shared memory.
template <class F>
void for_each_flow(const OpClass& c, F f) {
  if (reads_memory(c.kind)) f(c.tensor, Link::l2_to_sm, c.bytes);
  if (writes_memory(c.kind)) f(c.tensor, Link::sm_to_l2, c.bytes);
  if (c.smem_read[0] > 0) f(c.smem_read_tensor[0], Link::smem_read, c.smem_read[0]);
  if (c.smem_read[1] > 0) f(c.smem_read_tensor[1], Link::smem_read, c.smem_read[1]);
  if (c.smem_write > 0) f(c.smem_write_tensor, Link::smem_write, c.smem_write);
}

/// Records an access after which the L2 has `bytes` of `tensor`. Returns the contents then.
Contents accessed(Recorder& recorder, Contents contents, double time, Tensor tensor, std::int64_t bytes) {
  recorder.l2_before(time, contents.l2);
  contents.time = time;
  contents.l2.resident[tensor.index()] = bytes;
  contents.l2.copies[tensor.index()] = bytes / 4;
  contents.l2.dirty[tensor.index()] = bytes / 2;
  recorder.l2_after(time, contents.l2);
  return contents;
}

}  // namespace

TEST_CASE(
    "recorder: bins have the bytes that landed in them, the cycles that units were busy, and the L2 as it was at their ends") {
  const GpuSpec gpu = toy_gpu();
  const AttentionProblem problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  const auto program = program_of("flash2", problem, {16, 16});
  for (int round = 0; round < rounds(6); ++round) {
    // Few records of a short and of a long run, and so many that events are not kept.
    const bool is_many = round % 3 == 2;
    const int records = is_many ? 250'000 : 1000;
    const double step = round % 3 == 0 ? 20 : is_many ? 1.5 : 400;
    CAPTURE(round);
    std::mt19937 random(static_cast<unsigned>(round + 1));
    const auto below = [&](double limit) { return limit * static_cast<double>(random() % 4096) / 4096; };
    ScheduleBuilder builder(gpu, problem);
    schedule_first_block(builder, *program);
    const auto classes = static_cast<std::uint32_t>(builder.classes().size());
    Recorder recorder(4, 0, program->tensors(), builder);
    std::vector<Recorded> operations;
    std::vector<Written> writes;
    std::vector<Contents> contents = {{}};
    double now = 0;
    for (int n = 0; n < records; ++n) {
      now += below(step);
      const std::uint32_t op_class = 1 + static_cast<std::uint32_t>(random()) % (classes - 1);
      const OpClass& c = builder.op_class(op_class);
      const double end = now + c.busy_cycles + (moves_tile(c.kind) ? below(30) : 0);
      Recorder::Counts* const counts = random() % 8 == 0 ? recorder.counts_between(now, end) : nullptr;
      if (counts != nullptr) {
        (*counts)[op_class] += 3;
        for (int i = 0; i < 3; ++i) operations.push_back({op_class, now, now + c.busy_cycles, end});
      } else {
        recorder.operation(op_class, now, now + c.busy_cycles, end);
        operations.push_back({op_class, now, now + c.busy_cycles, end});
      }
      if (random() % 4 != 0) continue;
      const Tensor tensor = program->tensors()[random() % program->tensors().size()];
      const auto bytes = static_cast<std::int64_t>(32 * (1 + random() % 64));
      recorder.traffic(now, tensor, Link::hbm_write, bytes);
      writes.push_back({now, tensor, bytes});
      contents.push_back(accessed(recorder, contents.back(), now, tensor, bytes));
    }
    const double end = now + 500;
    const TraceData data = recorder.finish(end, {}, {}, contents.back().l2);
    const TimeBins& bins = data.bins;
    CHECK(data.exact == !is_many);
    CHECK(data.end_cycle == end);
    double width = 16;
    while (static_cast<std::size_t>(end / width) >= Recorder::most_bins) width *= 2;
    REQUIRE(bins.width == width);
    const std::size_t count = static_cast<std::size_t>(end / width) + 1;
    REQUIRE(bins.traffic.size() == count);
    REQUIRE(bins.busy_cycles.size() == count);
    REQUIRE(bins.l2.size() == count);

    std::vector<TrafficTable> traffic(count);
    std::vector<std::array<double, unit_count>> busy(count);
    const auto bin_of = [&](double time) { return static_cast<std::size_t>(time / width); };
    for (const Recorded& each : operations) {
      const OpClass& c = builder.op_class(each.op_class);
      for_each_flow(c, [&](Tensor tensor, Link link, std::int64_t bytes) {
        traffic[bin_of(each.end)][tensor.index()][static_cast<std::size_t>(link)] += bytes;
      });
      for (std::size_t bin = bin_of(each.start); bin <= bin_of(each.busy_end); ++bin) {
        const double from = std::max(each.start, static_cast<double>(bin) * width);
        const double to = std::min(each.busy_end, static_cast<double>(bin + 1) * width);
        busy[bin][static_cast<std::size_t>(c.unit)] += to - from;
      }
    }
    for (const Written& each : writes)
      traffic[bin_of(each.time)][each.tensor.index()][static_cast<std::size_t>(Link::hbm_write)] += each.bytes;
    std::size_t known = 0, wrong = 0;
    for (std::size_t bin = 0; bin < count; ++bin) {
      while (known + 1 < contents.size() && contents[known + 1].time < static_cast<double>(bin + 1) * width) ++known;
      wrong += bins.traffic[bin] != traffic[bin];
      const CacheContents& l2 = contents[known].l2;
      wrong += bins.l2[bin].resident != l2.resident || bins.l2[bin].copies != l2.copies || bins.l2[bin].dirty != l2.dirty;
      for (std::size_t unit = 0; unit < unit_count; ++unit)
        wrong += bins.busy_cycles[bin][unit] != doctest::Approx(busy[bin][unit]).epsilon(1e-9).scale(1e4);
    }
    CHECK(wrong == 0);
    if (!data.exact) continue;
    // Every event is kept too.
    std::int64_t binned = 0, kept = 0;
    for (const TrafficTable& bin : bins.traffic)
      for (const auto& links : bin)
        for (const std::int64_t bytes : links) binned += bytes;
    for (const TrafficEvent& event : data.traffic) kept += event.bytes;
    CHECK(binned == kept);
    CacheContents sum;
    for (const L2Event& event : data.l2) {
      sum.resident[event.tensor.index()] += event.resident;
      sum.copies[event.tensor.index()] += event.copies;
      sum.dirty[event.tensor.index()] += event.dirty;
    }
    CHECK(sum.resident == contents.back().l2.resident);
    CHECK(sum.copies == contents.back().l2.copies);
    CHECK(sum.dirty == contents.back().l2.dirty);
  }
}

TEST_CASE("recorder: operations counted as groups are in the bin that they lie in, and those between bins are not counted so") {
  const GpuSpec gpu = toy_gpu();
  const AttentionProblem problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  const auto program = program_of("flash2", problem, {16, 16});
  ScheduleBuilder builder(gpu, problem);
  schedule_first_block(builder, *program);
  Recorder recorder(4, 0, program->tensors(), builder);
  const Tensor any = program->tensors().front();
  Recorder::Group* const group = recorder.add_group({{1, 2}, {2, 5}});
  CHECK_FALSE(recorder.count_group(*group, 33, 34));  // events are kept yet
  for (std::size_t n = 0; n <= Recorder::most_events; ++n) recorder.traffic(1, any, Link::hbm_write, 32);
  std::vector<std::int64_t> times(4 * Recorder::most_bins);
  std::mt19937 random(2);
  double now = 40;
  int crossing = 0;
  for (int n = 0; n < 14'000; ++n) {
    now += static_cast<double>(random() % 64) / 16;
    const double end = now + static_cast<double>(random() % 100) / 16;
    const bool fits = static_cast<std::int64_t>(now / 16) == static_cast<std::int64_t>(end / 16);
    const bool counted = recorder.count_group(*group, now, end);
    if (!fits) CHECK_FALSE(counted);
    crossing += fits ? 0 : 1;
    if (counted) ++times[static_cast<std::size_t>(now / 64)];
  }
  CHECK(crossing > 100);
  recorder.forget_groups();
  const double end = 16 * 2048 * 3;  // bins of 64 cycles
  const TraceData data = recorder.finish(end, {}, {}, {});
  REQUIRE(data.bins.width == 64);
  std::int64_t all = 0;
  for (std::size_t bin = 1; bin < data.bins.traffic.size(); ++bin) {
    TrafficTable expected{};
    all += times[bin];
    for (const auto& counted : {std::pair{1U, 2}, std::pair{2U, 5}})
      for_each_flow(builder.op_class(counted.first), [&](Tensor tensor, Link link, std::int64_t bytes) {
        expected[tensor.index()][static_cast<std::size_t>(link)] += times[bin] * counted.second * bytes;
      });
    CHECK(data.bins.traffic[bin] == expected);
  }
  CHECK(all > 5000);
}

TEST_CASE("trace: traffic up to a moment is what has crossed by then, and the L2 holds what the accesses before it left there") {
  const GpuSpec gpu = toy_gpu();
  const AttentionProblem problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  const auto program = program_of("flash2", problem, {16, 16});
  struct Crossing {
    double time = 0, streams = 0;
    Tensor tensor;
    Link link = Link::hbm_read;
    std::int64_t bytes = 0;
  };
  for (int round = 0; round < rounds(6); ++round) {
    CAPTURE(round);
    const bool is_exact = round % 3 != 2;
    std::mt19937 random(static_cast<unsigned>(round + 21));
    ScheduleBuilder builder(gpu, problem);
    schedule_first_block(builder, *program);
    Recorder recorder(4, 0, program->tensors(), builder);
    std::vector<Crossing> crossings;
    std::vector<Contents> contents = {{}};
    double now = 0;
    const int records = is_exact ? 3000 : static_cast<int>(Recorder::most_events) + 2000;
    for (int n = 0; n < records; ++n) {
      now += static_cast<double>(random() % 64) / 16;
      const Tensor tensor = program->tensors()[random() % program->tensors().size()];
      const auto bytes = static_cast<std::int64_t>(32 * (1 + random() % 64));
      const Link link = random() % 2 == 0 ? Link::hbm_read : Link::hbm_write;
      const double streams = random() % 3 == 0 ? 0 : static_cast<double>(random() % 40),
                   end = now + static_cast<double>(random() % 90);
      recorder.traffic(end, tensor, link, bytes, streams);
      crossings.push_back({end, streams, tensor, link, bytes});
      if (random() % 2 == 0) continue;
      contents.push_back(accessed(recorder, contents.back(), now, tensor, bytes));
    }
    const double end = now + 200;
    TrafficTable total{};
    for (const Crossing& each : crossings) total[each.tensor.index()][static_cast<std::size_t>(each.link)] += each.bytes;
    TraceData data = recorder.finish(end, {}, total, contents.back().l2);
    const double width = data.bins.width;
    REQUIRE(data.exact == is_exact);
    const RecordedTrace trace(std::move(data));
    for (int look = 0; look < 60; ++look) {
      // Between accesses, at one, at its end, and before all of them.
      const Crossing& any = crossings[random() % crossings.size()];
      const double moments[] = {end * static_cast<double>(random() % 1000) / 1000, any.time, any.time - any.streams / 2,
                                contents[random() % contents.size()].time, look == 3 ? 0 : end};
      const double cycle = std::max(0.0, moments[look % 5]);
      CAPTURE(cycle);
      const TraceState state = trace.state_at_cycle(0, cycle);
      CHECK(state.traffic_exact == (is_exact || cycle == end));
      // What a bin has crosses evenly while it lasts, where single events are not kept.
      const auto bin = std::floor(cycle / width);
      const double into = cycle / width - bin;
      TrafficTable crossed{};
      std::array<std::array<double, link_count>, most_tensors> of_bin{};
      for (const Crossing& each : crossings) {
        const double begin = each.time - each.streams;
        const auto link = static_cast<std::size_t>(each.link);
        if (!is_exact && cycle < end) {
          if (std::floor(each.time / width) < bin) crossed[each.tensor.index()][link] += each.bytes;
          if (std::floor(each.time / width) == bin) of_bin[each.tensor.index()][link] += static_cast<double>(each.bytes);
        } else if (each.time <= cycle) {
          crossed[each.tensor.index()][link] += each.bytes;
        } else if (begin < cycle) {
          crossed[each.tensor.index()][link] +=
              static_cast<std::int64_t>((cycle - begin) / each.streams * static_cast<double>(each.bytes) + 1e-7);
        }
      }
      int wrong = 0;
      for (std::size_t t = 0; t < most_tensors; ++t)
        for (std::size_t l = 0; l < link_count; ++l) {
          const auto expected = static_cast<double>(crossed[t][l]) + into * of_bin[t][l];
          // A byte of each transfer that is under way may be rounded away.
          wrong += std::abs(static_cast<double>(state.traffic[t][l]) - expected) > (is_exact ? 4 : 1) ? 1 : 0;
        }
      CHECK(wrong == 0);
      const auto held = [&](double until, bool includes) {
        const Contents* last = &contents.front();
        for (const Contents& each : contents)
          if (each.time < until || (includes && each.time == until)) last = &each;
        return last->l2;
      };
      if (is_exact) {
        CHECK(state.l2 == held(cycle, false));
        continue;
      }
      const CacheContents before = bin > 0 ? held(bin * width, false) : CacheContents{}, after = held((bin + 1) * width, false);
      const auto between = [&](const TensorBytes& a, const TensorBytes& b, std::size_t t) {
        if (cycle >= end) return static_cast<double>(b[t]);
        return static_cast<double>(a[t]) + into * static_cast<double>(b[t] - a[t]);
      };
      for (std::size_t t = 0; t < most_tensors; ++t) {
        CHECK(std::abs(static_cast<double>(state.l2.resident[t]) - between(before.resident, after.resident, t)) <= 0.5 + 1e-6);
        CHECK(std::abs(static_cast<double>(state.l2.copies[t]) - between(before.copies, after.copies, t)) <= 0.5 + 1e-6);
        CHECK(std::abs(static_cast<double>(state.l2.dirty[t]) - between(before.dirty, after.dirty, t)) <= 0.5 + 1e-6);
      }
    }
  }
}
