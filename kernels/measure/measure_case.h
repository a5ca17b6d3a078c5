// Measuring one kernel on one problem: times, counters and clock, as a MeasuredCase. What cannot be read is said and left out.
//
//   MeasuringSession::open() ──► device, scratch, profiler: opened once
//          └─ measure(kernel, problem) ──► MeasuredCase
//
//   how each number is taken
//     time_cold_ns   events around the kernel, no profiler, after a flush that reads 4 x L2 of other memory
//     time_warm_ns   the same with the kernel itself as what ran before
//     sm_clock_hz    SM cycles over the global timer, both read in small kernels just outside of the events of the cold runs
//     cycles         the cold times at that clock
//     counters       CUPTI ranges from a flushed L2; counters_warm the same right after the kernel itself ran
//     placements     the L2 finds its sets by physical addresses, so what stays in it depends on where the tensors lie: HBM is
//                    counted again with the tensors elsewhere, while those of before are still held
//     hbm_write_after_flush_bytes   a range over the kernel and a flush after it: what the kernel leaves dirty in the L2 is then
//                    written too, so this is what it owes the HBM; the plain counter depends on what happened to be evicted
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
  int time_repeats = 20;    // fewer where a run is long, but at least 5
  int counter_repeats = 2;  // 0: no counters; 1: no smem_bytes either
  int warm_repeats = 1;     // of the counters from a warm L2, and of the writes after a flush
  int placements = 1;       // places in memory where HBM is counted, for tensors of about the L2's size
};

/// What it cost to measure, in seconds of this machine.
struct MeasuringCost {
  double prepare = 0, times = 0, counters = 0;
  double total() const { return prepare + times + counters; }
};

/// Told how far it is (0 to 1) and at what; false cancels.
using MeasureProgress = std::function<bool(double done, std::string_view doing)>;

/// Device, flush memory and profiler, kept open so that the next measurement starts at once. One at a time, used by one thread.
class MeasuringSession {
 public:
  /// Errors  no device, driver too old, no memory for the flush. Refused counters are no error: see refused().
  static Result<MeasuringSession> open();

  const DeviceInfo& device() const { return device_; }
  /// Why there are no counters; empty where there are.
  const std::string& refused() const { return refused_; }

  /// Errors  a problem that the kernel does not take; out of device memory; cancelled. Counters that fail are said in `refused` of
  ///         the case, and its times are there.
  Result<MeasuredCase> measure(const KernelInfo& kernel, const AttentionProblem& problem, const MeasureOptions& options,
                               const MeasureProgress& progress, MeasuringCost* cost = nullptr);

  /// HBM traffic over the life of one run: see bandwidth.h. The hardware has one profiler at a time, so the counters give way
  /// meanwhile.
  Result<BandwidthRecord> sample(const KernelInfo& kernel, const AttentionProblem& problem);

  /// A bundle without cases: the device, its clocks, and what each counter is called.
  MeasurementBundle empty_bundle() const;

 private:
  void open_counters();

  DeviceInfo device_;
  DeviceMemory scratch_;
  SamplerKnowledge sampler_;
  std::optional<CounterSession> counters_;
  std::string refused_;
};

/// One measurement in a session of its own.
Result<MeasuredCase> measure_case(const KernelInfo& kernel, const AttentionProblem& problem, const MeasureOptions& options,
                                  const MeasureProgress& progress);

/// The id of a device's spec: "NVIDIA H200" is h200, "NVIDIA GeForce RTX 4090" rtx4090, "NVIDIA A100-SXM4-80GB" a100.
std::string spec_id_of(std::string_view device_name);

/// Median, least and most; zeros of no values.
Spread spread_of(std::vector<double> values);

}  // namespace tilescope
