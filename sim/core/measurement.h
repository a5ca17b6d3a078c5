// Measurements of a real kernel on a real GPU: counters, times and conditions. No CUDA here, so any machine can read them.
//
//   kernels/measure ──► MeasuredCase ──► bundle (kernels/measure/bundle.h) ──► sim/analysis/validation.h, the window
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// One quantity, measured several times.
struct Spread {
  double median = 0, least = 0, most = 0;
  bool operator==(const Spread&) const = default;
};

/// One launch of a kernel: its compiled needs and its measured time.
struct MeasuredLaunch {
  std::string name;  // "scores", "softmax", "output", "attention"
  std::int64_t blocks = 0;
  int threads = 0, registers = 0, blocks_per_sm = 0;
  std::int64_t shared_bytes = 0;  // per block
  Spread time_ns;                 // by events between the launches; the L2 is cold at the first launch
  bool operator==(const MeasuredLaunch&) const = default;
};

/// One kernel on one problem.
struct MeasuredCase {
  std::string kernel;        // id in the kernel table; validation compares it with the program of the same id
  std::string list;          // "build": the time model was fitted to it; "judge": held out; otherwise empty
  AttentionProblem problem;  // without a mask of `presets`, `masks` and `score`: settled_problem() adds it
  /// What hides keys and changes scores, as in MaskChoice (sim/masks/mask_choice.h). Tables cannot be recorded.
  std::vector<std::string> presets = {}, masks = {};
  std::string score = {};
  bool is_changed() const { return !presets.empty() || !masks.empty() || !score.empty(); }
  TileShape tile;
  /// By our key ("hbm_read_bytes", "l2_to_sm_bytes", …: counter_table()), summed over all launches, from a cold L2.
  /// Empty if the machine refused counters.
  std::map<std::string, Spread> counters;
  /// The same from a warm L2 (the kernel has just run); HBM and L2 keys only.
  std::map<std::string, Spread> counters_warm;
  /// HBM bytes written by the kernel and by a flush of the L2 after it; zeros if not measured.
  Spread hbm_write_after_flush_bytes;
  Spread time_cold_ns, time_warm_ns;  // by events around the kernel, without a profiler
  Spread cycles;                      // of the cold repeats, each at its own clock
  double sm_clock_hz = 0;             // median of the cycles over median of the cold times
  int counter_passes = 0, counter_repeats = 0, time_repeats = 0;
  /// Number of memory placements of the tensors for which HBM bytes were counted. Above 1, the cold HBM counters take their median
  /// from the first placement, and their least and most from all placements: one reading of each further one.
  int placements = 1;
  std::vector<MeasuredLaunch> launches;  // empty for library kernels
  std::string refused;                   // why counters are missing; empty if they are not

  bool operator==(const MeasuredCase&) const = default;
};

/// A recorded suite: assets/measured/<gpu>.json. It never holds simulated numbers.
struct MeasurementBundle {
  std::string gpu;              // id of the spec: "h200"
  std::string device;           // "NVIDIA H200"
  std::string driver, runtime;  // CUDA versions, "13.0"
  std::string commit, date;     // commit of the kernels; ISO 8601
  std::string command;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  double sm_clock_hz = 0, memory_clock_hz = 0;       // maximum clocks
  std::map<std::string, std::string> counter_names;  // our key → the hardware's name
  std::vector<MeasuredCase> cases;

  bool operator==(const MeasurementBundle&) const = default;
};

}  // namespace tilescope
