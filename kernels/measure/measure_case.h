// Measures one kernel on one problem: times, counters and clock, as a MeasuredCase. Values that cannot be read are left out, and
// the case says why.
//
//   MeasuringSession::open() ──► device, scratch, profiler: opened once
//          └─ measure(kernel, problem) ──► MeasuredCase
//
//   how each number is measured
//     time_cold_ns   events around the kernel, no profiler, after a flush that reads 4 x L2 of other memory
//     time_warm_ns   the same after a run of the kernel itself
//     cycles         each cold time at its own clock: SM cycles over the global timer, read by small kernels around its events
//     sm_clock_hz    the median of the cycles over that of the cold times
//     counters       CUPTI ranges from a flushed L2; counters_warm: right after a run of the kernel itself
//     placements     physical addresses select the L2 set, so what stays in the L2 depends on where the tensors lie. HBM is counted
//                    again with the tensors at other addresses, while the earlier ones stay allocated
//     hbm_write_after_flush_bytes   a range over the kernel and a flush after it, which also writes back the lines that the kernel
//                    left dirty in the L2. The plain counter depends on which lines happened to be evicted
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/kernel_table.h"
#include "kernels/measure/bandwidth.h"
#include "kernels/measure/counters.h"
#include "sim/core/measurement.h"
#include "sim/core/probe_result.h"

namespace tilescope {

struct MeasureOptions {
  int time_repeats = 20;    // fewer for a long run, at least 5
  int counter_repeats = 2;  // 0: no counters; 1: no smem_bytes
  int warm_repeats = 1;     // repeats of the warm-L2 counters and of the writes after a flush
  int placements = 1;       // addresses at which HBM is counted, for tensors of about the L2's size
};

/// Seconds that a measurement took, by step.
struct MeasuringCost {
  double prepare = 0, times = 0, counters = 0;
  double total() const { return prepare + times + counters; }
};

/// Called with the progress (0 to 1) and the current step; returning false cancels.
using MeasureProgress = std::function<bool(double done, std::string_view doing)>;

/// Keeps device, flush memory and profiler open, so that the next measurement starts at once. For one thread; one session at once.
class MeasuringSession {
 public:
  /// Errors   no device, driver too old, no memory for the flush. Refused counters are not an error: see refused()
  static Result<MeasuringSession> open();

  const DeviceInfo& device() const { return device_; }
  /// Returns why there are no counters; empty if there are.
  const std::string& refused() const { return refused_; }

  /// Errors   a problem that the kernel does not take; out of device memory; cancelled. If counters fail, the case has its times
  ///          and says why in `refused`
  Result<MeasuredCase> measure(const KernelInfo& kernel, const AttentionProblem& problem, const MeasureOptions& options,
                               const MeasureProgress& progress, MeasuringCost* cost = nullptr);

  /// Samples HBM traffic during one run: see bandwidth.h. Releases the counters meanwhile, because the hardware has one profiler.
  Result<BandwidthRecord> sample(const KernelInfo& kernel, const AttentionProblem& problem);

  /// Returns a bundle without cases: the device, its clocks and the names of the counters.
  MeasurementBundle empty_bundle() const;

 private:
  void open_counters();

  DeviceInfo device_;
  DeviceMemory scratch_;
  SamplerKnowledge sampler_;
  std::optional<CounterSession> counters_;
  std::string refused_;
};

/// Measures one case in a session of its own.
Result<MeasuredCase> measure_case(const KernelInfo& kernel, const AttentionProblem& problem, const MeasureOptions& options,
                                  const MeasureProgress& progress);

/// Returns the id of a device's spec: "NVIDIA H200" is h200, "NVIDIA GeForce RTX 4090" rtx4090, "NVIDIA A100-SXM4-80GB" a100.
std::string spec_id_of(std::string_view device_name);

/// Returns median, minimum and maximum; zeros for no values.
Spread spread_of(std::vector<double> values);

}  // namespace tilescope
