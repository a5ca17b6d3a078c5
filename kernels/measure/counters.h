// Hardware counters through CUPTI's range profiler, opened at run time: the metric of each link, and how many passes a set takes.
//
//   host half (no GPU needed)  plan_counters(chip, metrics) ─► known metrics, passes
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

/// A quantity of ours and the hardware metric that counts it.
struct Counter {
  std::string_view key;     // "hbm_read_bytes"
  std::string_view metric;  // "dram__bytes_read.sum"
  double factor;            // value of the key = metric x factor
  std::string_view meaning;
};

/// Returns all counters. The metric names hold for Ampere and later, data centre and desktop.
std::span<const Counter> counter_table();
/// Counters that are read together; a smaller set takes fewer passes. `memory` has HBM and L2, which a warm L2 changes; `hbm` has
/// only the bytes of HBM. smem_bytes is counted by patching the kernel, and keeps counting while other sets are read. So the first
/// reading of `all` after another set includes what ran in between; later readings do not.
enum class CounterSet { all, memory, hbm };
bool belongs(const Counter& counter, CounterSet set);
/// Returns the metric names of all counters, or of a set.
std::vector<std::string> counter_metrics();
std::vector<std::string> counter_metrics(CounterSet set);

struct CounterPlan {
  std::string chip;
  int passes = 0;                    // how many times the kernel must run
  std::vector<std::string> unknown;  // metrics that the chip lacks
};

/// Returns which of `metrics` a chip (such as "GH100") has, and how many passes they take. Needs CUPTI but no GPU.
/// Errors   no CUPTI on this machine; an unknown chip: lists the known ones
Result<CounterPlan> plan_counters(std::string_view chip, std::span<const std::string> metrics);

struct CounterReading {
  std::vector<double> values;  // in the order of counter_table(); NaN if the set or the chip lacks the counter
  int passes = 0;
};

/// A profiling session on the current device. Only one can exist at a time, over all processes.
class CounterSession {
 public:
  /// Errors   no GPU; no CUPTI; no permission (says what to change); the profiler is in use; the driver is too old
  static Result<CounterSession> open();
  /// Runs `prepare` (not counted, for example an L2 flush) and then `run` (counted), once a pass.
  Result<CounterReading> read(CounterSet set, const std::function<Status()>& prepare, const std::function<Status()>& run);
  /// Does the same for hardware metrics that the caller names; returns their values in that order.
  /// Errors   a metric that the chip lacks
  Result<std::vector<double>> read_metrics(const std::vector<std::string>& metrics, const std::function<Status()>& prepare,
                                           const std::function<Status()>& run);
  std::string chip() const;
  /// Releases the profiling hardware for the sampler or another program. The next reading takes it again.
  void pause();

 private:
  struct Impl;
  struct Close {
    void operator()(Impl* impl) const;
  };
  std::unique_ptr<Impl, Close> impl_;
};

}  // namespace tilescope
