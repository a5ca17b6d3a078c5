// Times kernels with events.
#include "kernels/measure/timing.h"

#include <algorithm>
#include <limits>

#include "kernels/measure/clock_gauge.h"
#include "sim/programs/attention_tensors.h"

namespace tilescope {

namespace {

constexpr int most_attempts = 4;           // for each repeat asked for: those that the host began too late are made again
constexpr int empty_repeats = 10;          // empty kernels that calibrate the clock gauge
constexpr int command_shifts = 8;          // empty kernels before a repeat: 0 to 7
constexpr std::int64_t scratch_of_l2 = 4;  // times the L2: each of two partitions may keep a copy; twice that for safety

}  // namespace

Result<DeviceMemory> flush_scratch(const DeviceInfo& device) {
  return DeviceMemory::allocate(scratch_of_l2 * device.l2_bytes);
}

namespace {

/// One timed run of a kernel.
struct Repeat {
  double ms = 0;
  ClockReading clock;
  bool is_late = false;  // the host came late, so that idle time may have passed between the events
};

/// Times runs of one kernel between two events.
class Repeater {
 public:
  Repeater(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors, const DeviceMemory& scratch,
           const TimingOptions& options, Stopwatch& watch)
      : kernel_(kernel), problem_(problem), tensors_(tensors), scratch_(scratch), options_(options), watch_(watch) {
    const auto planned = kernel.plan == nullptr ? std::vector<PlannedLaunch>() : kernel.plan(problem, tensors);
    launches_ = std::max<std::size_t>(planned.size(), 1);  // a library kernel counts as one
    most_blocks_ = planned.empty() ? std::numeric_limits<std::int64_t>::max() : 0;
    for (const PlannedLaunch& one : planned) most_blocks_ = std::max(most_blocks_, one.grid[0] * one.grid[1] * one.grid[2]);
  }

  Status run() const { return launch(kernel_, problem_, tensors_, nullptr); }
  /// Times the kernel, or as many empty kernels as it has launches.
  Result<Repeat> time(bool is_empty) {
    // Where the commands of a launch lie decides whether the GPU has its parameters early: in one place of about eight a kernel
    // with more than some 200 bytes of them takes 0.3 to 1 µs longer (docs/findings/launches.md). Equal repeats would all meet one
    // place.
    for (int i = 0; i < shifts_; ++i)
      if (Status shifted = launch(plan_empty(), nullptr); !shifted) return shifted.error();
    shifts_ = (shifts_ + 1) % command_shifts;
    // The kernel before the timed one also hides the host's launch time, so no launch latency falls between the events.
    const Status before = options_.l2 == L2State::cold ? launch(plan_flush(scratch_), nullptr) : run();
    if (!before) return before.error();
    if (options_.gauge != nullptr)
      if (Status begun = options_.gauge->begin(); !begun) return begun.error();
    if (Status started = watch_.start(nullptr); !started) return started.error();
    if (Status launched = is_empty ? run_empty() : run(); !launched) return launched.error();
    if (Status ended = watch_.end(nullptr); !ended) return ended.error();
    if (options_.gauge != nullptr)
      if (Status ended = options_.gauge->end(); !ended) return ended.error();
    Repeat repeat;
    repeat.is_late = options_.l2 == L2State::cold && watch_.has_started();
    if (options_.gauge != nullptr) {
      const Result<ClockReading> clock = options_.gauge->read(most_blocks_);
      if (!clock) return clock.error();
      repeat.clock = *clock;
    }
    const Result<double> milliseconds = watch_.elapsed();
    if (!milliseconds) return milliseconds.error();
    repeat.ms = *milliseconds;
    return repeat;
  }

 private:
  Status run_empty() const {
    for (std::size_t n = 0; n < launches_; ++n)
      if (Status launched = launch(plan_empty(), nullptr); !launched) return launched.error();
    return Done{};
  }

  const KernelInfo& kernel_;
  const AttentionProblem& problem_;
  const DeviceTensors& tensors_;
  const DeviceMemory& scratch_;
  const TimingOptions& options_;
  Stopwatch& watch_;
  std::size_t launches_ = 1;
  std::int64_t most_blocks_ = 0;
  int shifts_ = 0;
};

}  // namespace

Result<Timing> time_kernel(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                           const DeviceMemory& scratch, const TimingOptions& options) {
  Result<Stopwatch> watch = Stopwatch::make();
  if (!watch) return watch.error();
  Repeater repeater(kernel, problem, tensors, scratch, options, *watch);
  for (int i = 0; i < options.warm_ups; ++i)
    if (Status launched = repeater.run(); !launched) return launched.error();
  if (options.gauge != nullptr)
    for (int i = 0; i < empty_repeats; ++i) {
      const Result<Repeat> empty = repeater.time(true);
      if (!empty) return empty.error();
      if (!empty->is_late) options.gauge->add_overhead(empty->clock);
    }
  std::vector<Repeat> early, late;
  for (int i = 0; i < most_attempts * options.repeats && std::ssize(early) < options.repeats; ++i) {
    const Result<Repeat> repeat = repeater.time(false);
    if (!repeat) return repeat.error();
    (repeat->is_late ? late : early).push_back(*repeat);
  }
  if (early.empty()) {  // a plan of many launches, or a slow host
    early = std::move(late);
    early.resize(std::min(early.size(), static_cast<std::size_t>(options.repeats)));
  }
  Timing timing;
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
