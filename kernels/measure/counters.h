// Hardware counters through CUPTI's range profiler, opened at run time; which metric is which link, and how many passes they take.
//
//   host half (no GPU needed)  plan_counters(chip, metrics) ─► valid? passes?
//   device half                CounterSession::open() ─► read(set, prepare, run) ─► one number a counter
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// A number that we want, and the metric that the hardware calls it by.
struct Counter {
  std::string_view key;     // "hbm_read_bytes"
  std::string_view metric;  // "dram__bytes_read.sum"
  double factor;            // metric x factor = what the key says
  std::string_view meaning;
};

/// Every counter we know. Names are those of Ampere and later data-centre and desktop chips.
std::span<const Counter> counter_table();
/// Counters that are read together; fewer take fewer passes. `memory`: HBM and L2, which a warm L2 changes; `hbm`: bytes of HBM
/// alone. smem_bytes is counted by patching the kernel and goes on counting while other sets are read: the first reading of `all`
/// after another set also holds what ran in between; the readings after it do not.
enum class CounterSet { all, memory, hbm };
bool belongs(const Counter& counter, CounterSet set);
/// Metric names of all counters, or of those of a set.
std::vector<std::string> counter_metrics();
std::vector<std::string> counter_metrics(CounterSet set);

struct CounterPlan {
  std::string chip;
  int passes = 0;                    // how often the kernel must run
  std::vector<std::string> unknown;  // metrics that this chip does not have
};

/// Which of `metrics` a chip ("GH100") has, and how many passes those take. Needs CUPTI but no GPU.
/// Errors  no CUPTI on this machine; a chip that it does not know: names those it does.
Result<CounterPlan> plan_counters(std::string_view chip, std::span<const std::string> metrics);

struct CounterReading {
  std::vector<double> values;  // in the order of counter_table(); NaN where the set or the chip has none
  int passes = 0;
};

/// A profiling session on the current device. One at a time: the profiler belongs to one process.
class CounterSession {
 public:
  /// Errors  no GPU; no CUPTI; no permission (says what to change); the profiler is in use; the driver is too old.
  static Result<CounterSession> open();
  /// Runs `prepare` (not counted; flush the L2 there, or not) and `run` (counted) once a pass.
  Result<CounterReading> read(CounterSet set, const std::function<Status()>& prepare, const std::function<Status()>& run);
  /// The same for metrics of the caller's choice, by the hardware's names; the numbers are in their order.
  /// Errors  a metric that the chip does not have.
  Result<std::vector<double>> read_metrics(const std::vector<std::string>& metrics, const std::function<Status()>& prepare,
                                           const std::function<Status()>& run);
  std::string chip() const;
  /// Lets go of the hardware, which only one profiler can have: for the sampler, or another program. The next reading takes it
  /// again.
  void pause();

 private:
  struct Impl;
  struct Close {
    void operator()(Impl* impl) const;
  };
  std::unique_ptr<Impl, Close> impl_;
};

}  // namespace tilescope
