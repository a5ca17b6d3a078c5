// What a real kernel saw of itself: where and when its blocks ran, what one SM did in each moment, and m, l and alpha of one row;
// and the HBM bandwidth over the life of a kernel, sampled from outside. No CUDA here: recorded ones are read anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// What a warp was at. Times are when the instructions were issued: a product may still be in the tensor core when the next stage
/// begins, and the copies of a tile land while others are worked on; `wait` is what was left to wait for.
/// `load` is a copy and the wait for it, where nothing else is done meanwhile.
enum class ProbeStage : std::uint8_t { prologue, wait, scores, copy_k, softmax, copy_v, product, store, load, copy };
inline constexpr std::array<std::string_view, 10> probe_stage_names = {"prologue", "wait",    "scores", "copy_k", "softmax",
                                                                       "copy_v",   "product", "store",  "load",   "copy"};

struct ProbeInterval {
  ProbeStage stage = ProbeStage::wait;
  int warp = 0;
  std::int64_t iteration = 0;               // of the block's loop over tiles; 0 for the prologue, their number for the store
  double start_cycles = 0, end_cycles = 0;  // of the SM, from the start of its first block
  bool operator==(const ProbeInterval&) const = default;
};

/// A block of a launch's grid: x fastest, as launched.
struct ProbedBlock {
  int launch = 0;
  std::int64_t block = 0;
  int sm = 0;
  double start_ns = 0, end_ns = 0;  // of the GPU's timer, from the start of the first block
  bool operator==(const ProbedBlock&) const = default;
};

/// A block of the SM that was looked into.
struct ProbedSmBlock {
  int launch = 0;
  std::int64_t block = 0;
  double start_cycles = 0, end_cycles = 0;
  std::vector<ProbeInterval> intervals;  // by warp, then by time
  bool operator==(const ProbedSmBlock&) const = default;
};

/// The statistics of the row after one tile of K and V, or after all of them where a kernel has no running ones (standard; alpha is
/// then 0). m in units of S (scaled), as the tile machine has it.
struct ProbedStep {
  double m = 0, l = 0, alpha = 0;
  bool operator==(const ProbedStep&) const = default;
};

/// What the probe costs: a launch without it and with it, by events.
struct ProbedLaunch {
  std::string name;
  double plain_ns = 0, probed_ns = 0;
  bool operator==(const ProbedLaunch&) const = default;
};

struct ProbeResult {
  std::string kernel, device, date, commit;
  AttentionProblem problem;
  TileShape tile;
  std::uint64_t seed = 0;              // of the inputs that the program makes of it, for the plane of the row
  double sm_clock_hz = 0;              // of the SM while its blocks ran
  double plain_ns = 0, probed_ns = 0;  // all launches
  std::vector<ProbedLaunch> launches;
  std::vector<ProbedBlock> blocks;
  int sm = 0;
  std::vector<ProbedSmBlock> sm_blocks;
  int row_launch = 0;                 // the launch that has the softmax,
  std::int64_t block = 0, row = 0;    // the block of it, and the row of that block's that was followed:
  std::int64_t plane = 0, query = 0;  // this row of this plane (batch x head)
  std::vector<ProbedStep> steps;
  bool operator==(const ProbeResult&) const = default;
};

/// One sample of the HBM.
struct BandwidthSample {
  double start_ns = 0, end_ns = 0;  // from the start of the first sample that is kept
  double read_bytes = 0, write_bytes = 0;
  bool operator==(const BandwidthSample&) const = default;
};

/// HBM traffic over the life of one kernel, from a flushed L2, with some quiet before and after.
struct BandwidthRecord {
  std::string kernel, device, date, commit;
  AttentionProblem problem;
  TileShape tile;
  double interval_ns = 0;  // asked for
  double kernel_ns = 0;    // by events in a run without sampling
  std::vector<BandwidthSample> samples;
  bool operator==(const BandwidthRecord&) const = default;
};

}  // namespace tilescope
