// Measures one kernel on one problem.
#include "kernels/measure/measure_case.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <deque>

#include "kernels/measure/bandwidth.h"
#include "kernels/measure/clock_gauge.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/timing.h"

namespace tilescope {

namespace {

constexpr std::uint64_t seed =
    1;  // traffic does not depend on the seed, and time hardly: random numbers draw the power of real data
constexpr int least_repeats = 5;
constexpr double longest_timing_ns = 4e8;  // total of a kernel's repeats; a longer run is repeated less often

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Error cancelled() {
  return {"the measurement was cancelled", Error::Kind::cancelled};
}

std::string without_counters(const Error& error) {
  return error.sentence.text() + "; time and correctness go on without counters";
}

/// Returns a counter's value; NaN if it was not read.
double value_of(const CounterReading& reading, std::string_view key) {
  const std::span<const Counter> table = counter_table();
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].key == key) return reading.values[i] * table[i].factor;
  return std::nan("");
}

/// The tensors of one measurement and the steps that use them.
class Run {
 public:
  Run(const KernelInfo& kernel, const AttentionProblem& problem, DeviceProblem tensors, const DeviceMemory& scratch)
      : kernel_(kernel), problem_(problem), tensors_(std::move(tensors)), scratch_(scratch) {}

  Status flush() const { return launch(plan_flush(scratch_), nullptr); }
  Status kernel() const { return launch(kernel_, problem_, tensors_.tensors(), nullptr); }
  Status kernel_and_flush() const {
    if (Status ran = kernel(); !ran) return ran;
    return flush();
  }

  Status warm_up() const;
  Status times(const DeviceInfo& device, int repeats, MeasuredCase& measured) const;
  Status launches(int repeats, MeasuredCase& measured) const;
  Status counters(CounterSession& session, const MeasureOptions& options, const std::function<bool()>& go_on,
                  MeasuredCase& measured) const;
  /// Returns the bytes of HBM from a cold L2: read and written by the kernel, and written by the kernel and a flush after it.
  Result<std::array<double, 3>> hbm_bytes(CounterSession& session) const;
  /// Returns the bytes that the kernel and a flush after it write to HBM; NaN if the chip does not count them.
  Result<double> written_after_flush(CounterSession& session) const;
  std::int64_t bytes() const { return tensors_.bytes(); }

 private:
  const KernelInfo& kernel_;
  const AttentionProblem& problem_;
  DeviceProblem tensors_;
  const DeviceMemory& scratch_;
};

constexpr double ns_a_ms = 1e6;

Spread in_ns(const Timing& timing) {
  std::vector<double> ns;
  for (double ms : timing.repeats_ms) ns.push_back(ms * ns_a_ms);
  return spread_of(std::move(ns));
}

/// Runs the kernel until the clock has left its idle value.
Status Run::warm_up() const {
  constexpr double warm_up_seconds = 0.05;
  const auto start = Clock::now();
  do {
    if (Status ran = kernel(); !ran) return ran;
    if (Status done = wait_for(nullptr); !done) return done;
  } while (seconds_since(start) < warm_up_seconds);
  return Done{};
}

Status Run::times(const DeviceInfo& device, int repeats, MeasuredCase& measured) const {
  if (Status warmed = warm_up(); !warmed) return warmed;
  Result<ClockGauge> gauge = ClockGauge::make(device);
  if (!gauge) return gauge.error();
  TimingOptions options;
  options.warm_ups = 1;
  options.repeats = 1;
  const Result<Timing> first = time_kernel(kernel_, problem_, tensors_.tensors(), scratch_, options);
  if (!first) return first.error();
  const double once_ns = std::max(in_ns(*first).median, 1.0);
  options.repeats = std::clamp(static_cast<int>(longest_timing_ns / once_ns), std::min(least_repeats, repeats), repeats);
  const Result<Timing> warm = time_kernel(kernel_, problem_, tensors_.tensors(), scratch_, options);
  if (!warm) return warm.error();
  options.l2 = L2State::cold;
  options.gauge = &*gauge;
  const Result<Timing> cold = time_kernel(kernel_, problem_, tensors_.tensors(), scratch_, options);
  if (!cold) return cold.error();

  measured.time_repeats = static_cast<int>(cold->repeats_ms.size());
  measured.time_warm_ns = in_ns(*warm);
  measured.time_cold_ns = in_ns(*cold);
  std::vector<double> cycles;
  for (std::size_t i = 0; i < cold->repeats_ms.size(); ++i)
    if (cold->repeats_hz[i] > 0) cycles.push_back(cold->repeats_ms[i] / 1e3 * cold->repeats_hz[i]);
  if (!cycles.empty()) measured.cycles = spread_of(std::move(cycles));
  measured.sm_clock_hz = measured.cycles.median / measured.time_cold_ns.median * 1e9;
  return Done{};
}

Status Run::launches(int repeats, MeasuredCase& measured) const {
  if (kernel_.plan == nullptr) return Done{};  // a library kernel's launches are unknown
  const LaunchPlan plan = kernel_.plan(problem_, tensors_.tensors());
  Result<std::vector<CompiledNeeds>> needs = compiled_launches(kernel_, problem_);
  if (!needs) return needs.error();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const CompiledNeeds& compiled = (*needs)[i];
    measured.launches.push_back({compiled.name,
                                 plan[i].grid[0] * plan[i].grid[1] * plan[i].grid[2],
                                 compiled.threads,
                                 compiled.registers,
                                 compiled.blocks_per_sm,
                                 compiled.shared_bytes,
                                 {}});
  }
  if (plan.size() == 1) {
    measured.launches.front().time_ns = measured.time_cold_ns;
    return Done{};
  }
  std::vector<Stopwatch> watches;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    Result<Stopwatch> watch = Stopwatch::make();
    if (!watch) return watch.error();
    watches.push_back(std::move(*watch));
  }
  std::vector<std::vector<double>> ns(plan.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    if (Status flushed = flush(); !flushed) return flushed;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (Status started = watches[i].start(nullptr); !started) return started;
      if (Status launched = launch(plan[i], nullptr); !launched) return launched;
      if (Status ended = watches[i].end(nullptr); !ended) return ended;
    }
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const Result<double> ms = watches[i].elapsed();
      if (!ms) return ms.error();
      ns[i].push_back(*ms * ns_a_ms);
    }
  }
  for (std::size_t i = 0; i < plan.size(); ++i) measured.launches[i].time_ns = spread_of(std::move(ns[i]));
  return Done{};
}

Status Run::counters(CounterSession& session, const MeasureOptions& options, const std::function<bool()>& go_on,
                     MeasuredCase& measured) const {
  const std::span<const Counter> table = counter_table();
  std::map<std::string, std::vector<double>> cold, warm;
  std::vector<double> after_flush;
  auto collect = [&](const CounterReading& reading, std::map<std::string, std::vector<double>>& into) {
    for (std::size_t i = 0; i < table.size(); ++i)
      if (!std::isnan(reading.values[i])) into[std::string(table[i].key)].push_back(reading.values[i] * table[i].factor);
  };
  const auto flush_first = [&] { return flush(); };
  const auto kernel_first = [&] { return kernel(); };
  const auto run_kernel = [&] { return kernel(); };
  for (int repeat = 0; repeat < options.counter_repeats; ++repeat) {
    const Result<CounterReading> reading = session.read(CounterSet::all, flush_first, run_kernel);
    if (!reading) return reading.error();
    collect(*reading, cold);
    if (repeat == 0) cold.erase("smem_bytes");  // includes earlier kernels: see CounterSet
    measured.counter_passes = reading->passes;
    if (!go_on()) return cancelled();
  }
  for (int repeat = 0; repeat < options.warm_repeats; ++repeat) {
    const Result<CounterReading> reading = session.read(CounterSet::memory, kernel_first, run_kernel);
    if (!reading) return reading.error();
    collect(*reading, warm);
    const Result<double> flushed = written_after_flush(session);
    if (!flushed) return flushed.error();
    if (!std::isnan(*flushed)) after_flush.push_back(*flushed);
    if (!go_on()) return cancelled();
  }
  measured.counter_repeats = options.counter_repeats;
  for (auto& [key, values] : cold) measured.counters[key] = spread_of(std::move(values));
  for (auto& [key, values] : warm) measured.counters_warm[key] = spread_of(std::move(values));
  measured.hbm_write_after_flush_bytes = spread_of(std::move(after_flush));
  return Done{};
}

Result<std::array<double, 3>> Run::hbm_bytes(CounterSession& session) const {
  const Result<CounterReading> alone = session.read(
      CounterSet::hbm, [&] { return flush(); }, [&] { return kernel(); });
  if (!alone) return alone.error();
  const Result<double> flushed = written_after_flush(session);
  if (!flushed) return flushed.error();
  return std::array{value_of(*alone, "hbm_read_bytes"), value_of(*alone, "hbm_write_bytes"), *flushed};
}

Result<double> Run::written_after_flush(CounterSession& session) const {
  const Result<CounterReading> reading = session.read(
      CounterSet::hbm, [&] { return flush(); }, [&] { return kernel_and_flush(); });
  if (!reading) return reading.error();
  return value_of(*reading, "hbm_write_bytes");
}

/// Counts the bytes of HBM with the tensors at other addresses. `runs` keeps the earlier tensors allocated.
Status count_elsewhere(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceMemory& scratch, int placements,
                       const std::function<bool()>& go_on, CounterSession& session, std::deque<Run>& runs, MeasuredCase& measured) {
  const auto read = measured.counters.find("hbm_read_bytes"), written = measured.counters.find("hbm_write_bytes");
  if (read == measured.counters.end() || written == measured.counters.end()) return Done{};  // the chip lacks these counters
  const std::array spreads = {&read->second, &written->second, &measured.hbm_write_after_flush_bytes};
  std::array<std::vector<double>, spreads.size()> medians;
  for (std::size_t i = 0; i < spreads.size(); ++i) medians[i].push_back(spreads[i]->median);
  while (static_cast<int>(runs.size()) < placements) {
    Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, problem, seed);
    if (!tensors) break;  // memory is full: use the addresses so far
    runs.emplace_back(kernel, problem, std::move(*tensors), scratch);
    const auto bytes = runs.back().hbm_bytes(session);
    if (!bytes) return bytes.error();
    for (std::size_t i = 0; i < spreads.size(); ++i) medians[i].push_back((*bytes)[i]);
    if (!go_on()) return cancelled();
  }
  measured.placements = static_cast<int>(medians.front().size());
  if (measured.placements == 1) return Done{};  // keep the spread over the repeats
  for (std::size_t i = 0; i < spreads.size(); ++i) *spreads[i] = spread_of(std::move(medians[i]));
  return Done{};
}

/// Returns whether the tensors are near the L2's size, so that what stays in the L2 depends on their addresses.
bool near_size_of_l2(std::int64_t bytes, const DeviceInfo& device) {
  constexpr double least = 0.4, most = 20;
  const double part = static_cast<double>(bytes) / static_cast<double>(device.l2_bytes);
  return least <= part && part <= most;
}

}  // namespace

Result<MeasuringSession> MeasuringSession::open() {
  Result<DeviceInfo> device = find_device();
  if (!device) return device.error();
  MeasuringSession session;
  session.device_ = *device;
  Result<DeviceMemory> scratch = flush_scratch(*device);
  if (!scratch) return scratch.error();
  session.scratch_ = std::move(*scratch);
  session.open_counters();
  return session;
}

void MeasuringSession::open_counters() {
  Result<CounterSession> counters = CounterSession::open();
  refused_ = counters ? std::string() : without_counters(counters.error());
  if (counters) counters_ = std::move(*counters);
}

Result<BandwidthRecord> MeasuringSession::sample(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (counters_) counters_->pause();
  return sample_bandwidth(kernel, problem, sampler_);
}

Result<MeasuredCase> MeasuringSession::measure(const KernelInfo& kernel, const AttentionProblem& problem,
                                               const MeasureOptions& options, const MeasureProgress& progress,
                                               MeasuringCost* cost) {
  const auto go_on = [&](double done, std::string_view doing) { return !progress || progress(done, doing); };
  MeasuringCost spent;
  auto start = Clock::now();
  if (!go_on(0, "making the tensors")) return cancelled();
  Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, problem, seed);
  if (!tensors) return tensors.error();
  std::deque<Run> runs;  // one for each set of addresses
  runs.emplace_back(kernel, problem, std::move(*tensors), scratch_);
  const Run& run = runs.front();
  MeasuredCase measured;
  measured.kernel = std::string(kernel.id);
  measured.problem = problem;
  measured.tile = kernel.tile(problem);
  spent.prepare = seconds_since(start);

  start = Clock::now();
  if (!go_on(0.1, "timing")) return cancelled();
  if (Status timed = run.times(device_, std::max(options.time_repeats, 1), measured); !timed) return timed.error();
  if (Status timed = run.launches(measured.time_repeats, measured); !timed) return timed.error();
  spent.times = seconds_since(start);

  start = Clock::now();
  if (!go_on(0.3, "reading counters")) return cancelled();
  if (!counters_ && options.counter_repeats > 0) open_counters();  // retry: permission may have been granted since
  measured.refused = refused_;
  if (counters_ && options.counter_repeats > 0) {
    int read = 0;
    const int placements = near_size_of_l2(run.bytes(), device_) ? std::max(options.placements, 1) : 1;
    const auto between = [&] {
      return go_on(0.3 + 0.7 * ++read / (options.counter_repeats + options.warm_repeats + placements - 1), "reading counters");
    };
    Status counted = run.counters(*counters_, options, between, measured);
    if (counted && placements > 1)
      counted = count_elsewhere(kernel, problem, scratch_, placements, between, *counters_, runs, measured);
    if (!counted && counted.error().kind == Error::Kind::cancelled) return counted.error();
    if (!counted) measured.refused = without_counters(counted.error());
  }
  spent.counters = seconds_since(start);
  if (cost != nullptr) *cost = spent;
  return measured;
}

MeasurementBundle MeasuringSession::empty_bundle() const {
  MeasurementBundle bundle;
  bundle.gpu = spec_id_of(device_.name);
  bundle.device = device_.name;
  bundle.driver = device_.driver_version;
  bundle.runtime = device_.runtime_version;
  bundle.sm_count = device_.sm_count;
  bundle.l2_bytes = device_.l2_bytes;
  bundle.sm_clock_hz = device_.sm_clock_hz;
  bundle.memory_clock_hz = device_.memory_clock_hz;
  for (const Counter& counter : counter_table()) bundle.counter_names[std::string(counter.key)] = counter.metric;
  return bundle;
}

Result<MeasuredCase> measure_case(const KernelInfo& kernel, const AttentionProblem& problem, const MeasureOptions& options,
                                  const MeasureProgress& progress) {
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  Result<MeasuringSession> session = MeasuringSession::open();
  if (!session) return session.error();
  return session->measure(kernel, problem, options, progress);
}

std::string spec_id_of(std::string_view device_name) {
  std::string id, word;
  for (const char c : std::string(device_name) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (word != "nvidia" && word != "geforce") id += word;
    if (std::any_of(word.begin(), word.end(), [](char letter) { return letter >= '0' && letter <= '9'; })) break;
    word.clear();
  }
  return id;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {(values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2, values.front(), values.back()};
}

}  // namespace tilescope
