// Times kernels with events.
#include "kernels/measure/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/measure/clock_gauge.h"
#include "sim/programs/attention_tensors.h"

namespace tilescope {

namespace {

constexpr int most_attempts = 4;           // for each repeat asked for: those that the host began too late are made again
constexpr int empty_repeats = 10;          // empty kernels that calibrate the clock gauge
constexpr std::int64_t scratch_of_l2 = 4;  // times the L2: each of two partitions may keep a copy; twice that for safety

}  // namespace

Result<DeviceMemory> flush_scratch(const DeviceInfo& device) {
  return DeviceMemory::allocate(scratch_of_l2 * device.l2_bytes);
}

Result<Timing> time_kernel(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                           const DeviceMemory& scratch, const TimingOptions& options) {
  Result<Stopwatch> watch = Stopwatch::make();
  if (!watch) return watch.error();
  for (int i = 0; i < options.warm_ups; ++i)
    if (Status launched = launch(kernel, problem, tensors, nullptr); !launched) return launched.error();
  Timing timing;
  const std::vector<PlannedLaunch> planned = kernel.plan == nullptr ? std::vector<PlannedLaunch>() : kernel.plan(problem, tensors);
  const std::size_t launches = std::max<std::size_t>(planned.size(), 1);  // a library kernel counts as one
  std::int64_t most_blocks = planned.empty() ? std::numeric_limits<std::int64_t>::max() : 0;
  for (const PlannedLaunch& one : planned) most_blocks = std::max(most_blocks, one.grid[0] * one.grid[1] * one.grid[2]);
  // The kernel before the timed one also hides the host's launch time, so no launch latency falls between the events.
  struct Repeat {
    double ms = 0;
    ClockReading clock;
    bool is_late = false;  // the host came late, so that idle time may have passed between the events
  };
  const auto once = [&](bool is_empty) -> Result<Repeat> {
    const Status before =
        options.l2 == L2State::cold ? launch(plan_flush(scratch), nullptr) : launch(kernel, problem, tensors, nullptr);
    if (!before) return before.error();
    if (options.gauge != nullptr)
      if (Status begun = options.gauge->begin(); !begun) return begun.error();
    if (Status started = watch->start(nullptr); !started) return started.error();
    if (!is_empty) {
      if (Status launched = launch(kernel, problem, tensors, nullptr); !launched) return launched.error();
    } else {
      for (std::size_t n = 0; n < launches; ++n)
        if (Status launched = launch(plan_empty(), nullptr); !launched) return launched.error();
    }
    if (Status ended = watch->end(nullptr); !ended) return ended.error();
    if (options.gauge != nullptr)
      if (Status ended = options.gauge->end(); !ended) return ended.error();
    Repeat repeat;
    repeat.is_late = options.l2 == L2State::cold && watch->has_started();
    if (options.gauge != nullptr) {
      const Result<ClockReading> clock = options.gauge->read(most_blocks);
      if (!clock) return clock.error();
      repeat.clock = *clock;
    }
    const Result<double> milliseconds = watch->elapsed();
    if (!milliseconds) return milliseconds.error();
    repeat.ms = *milliseconds;
    return repeat;
  };
  if (options.gauge != nullptr)
    for (int i = 0; i < empty_repeats; ++i) {
      const Result<Repeat> empty = once(true);
      if (!empty) return empty.error();
      if (!empty->is_late) options.gauge->add_overhead(empty->clock);
    }
  std::vector<Repeat> early, late;
  for (int i = 0; i < most_attempts * options.repeats && std::ssize(early) < options.repeats; ++i) {
    const Result<Repeat> repeat = once(false);
    if (!repeat) return repeat.error();
    (repeat->is_late ? late : early).push_back(*repeat);
  }
  if (early.empty()) {  // a plan of many launches, or a slow host
    early = std::move(late);
    early.resize(std::min(early.size(), static_cast<std::size_t>(options.repeats)));
  }
  for (const Repeat& repeat : early) {
    timing.repeats_ms.push_back(repeat.ms);
    if (options.gauge != nullptr) timing.repeats_hz.push_back(options.gauge->hertz(repeat.clock));
  }
  std::vector<double> sorted = timing.repeats_ms;
  std::sort(sorted.begin(), sorted.end());
  timing.least_ms = sorted.front();
  timing.most_ms = sorted.back();
  timing.median_ms = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  return timing;
}

double nominal_flops(const KernelInfo& kernel, const AttentionProblem& p) {
  const double product = 2.0 * static_cast<double>(p.query_planes()) * static_cast<double>(p.seq_q) *
                         static_cast<double>(p.seq_kv) * static_cast<double>(p.head_dim) * (p.causal ? 0.5 : 1.0);
  if (kernel.pass == Pass::backward) return 5 * product;
  const bool has_o = kernel.outputs.front() == tensors::o || kernel.outputs.back() == tensors::o;
  const bool has_qk = kernel.inputs.front() == tensors::q;
  return product * (static_cast<int>(has_o) + static_cast<int>(has_qk));
}

}  // namespace tilescope
