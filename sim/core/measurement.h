// What a real kernel did on a real GPU: counters, times and what they were read on. No CUDA here: recorded ones are read anywhere.
//
//   kernels/measure ──► MeasuredCase ──► bundle (kernels/measure/bundle.h) ──► sim/analysis/validation.h, the window
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// One number, read several times.
struct Spread {
  double median = 0, least = 0, most = 0;
  bool operator==(const Spread&) const = default;
};

/// One launch of a kernel, as the compiler made it and as it ran.
struct MeasuredLaunch {
  std::string name;  // "scores", "softmax", "output", "attention"
  std::int64_t blocks = 0;
  int threads = 0, registers = 0, blocks_per_sm = 0;
  std::int64_t shared_bytes = 0;  // a block
  Spread time_ns;                 // from a cold L2 at the first launch; events between the launches
  bool operator==(const MeasuredLaunch&) const = default;
};

/// One kernel on one problem.
struct MeasuredCase {
  std::string kernel;  // id, as in the table of kernels; the program of the same id is held against it
  std::string list;    // "build": seen while the time model was made; "judge": kept for judging it; else empty
  AttentionProblem problem;
  TileShape tile;
  /// By our key ("hbm_read_bytes", "l2_to_sm_bytes", …: counter_table()); of the whole kernel, all launches, from a cold L2.
  /// Empty where counters were refused.
  std::map<std::string, Spread> counters;
  /// The same from a warm L2 (the kernel ran just before); HBM and L2 keys only.
  std::map<std::string, Spread> counters_warm;
  /// HBM bytes written by the kernel and by a flush of the L2 after it; zeros where it was not read.
  Spread hbm_write_after_flush_bytes;
  Spread time_cold_ns, time_warm_ns;  // events around the kernel, no profiler
  Spread cycles;                      // time_cold_ns at sm_clock_hz
  double sm_clock_hz = 0;             // the clock that the cold runs really ran at
  int counter_passes = 0, counter_repeats = 0, time_repeats = 0;
  /// How many places in memory the tensors had when HBM was counted. Beyond 1 the spreads of HBM's bytes (from a cold L2) are over
  /// the places: the median of the first, one reading of each other.
  int placements = 1;
  std::vector<MeasuredLaunch> launches;  // empty for kernels of a library
  std::string refused;                   // why counters are missing; empty where they are not

  bool operator==(const MeasuredCase&) const = default;
};

/// A recorded suite: assets/measured/<gpu>.json. Nothing simulated is ever in one.
struct MeasurementBundle {
  std::string gpu;              // id of the spec: "h200"
  std::string device;           // "NVIDIA H200"
  std::string driver, runtime;  // CUDA versions, "13.0"
  std::string commit, date;     // of the kernels; ISO 8601
  std::string command;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  double sm_clock_hz = 0, memory_clock_hz = 0;       // highest
  std::map<std::string, std::string> counter_names;  // our key → the hardware's name
  std::vector<MeasuredCase> cases;

  bool operator==(const MeasurementBundle&) const = default;
};

}  // namespace tilescope
