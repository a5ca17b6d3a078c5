// What a real kernel recorded about itself. No CUDA here, so any machine can read it.
//
//   ProbeResult       where and when each block ran, the stages of the warps of one SM, and of one row m, l and alpha; of a
//                     backward kernel S, P, dP and dS
//   BandwidthRecord   HBM bandwidth over the life of a kernel, sampled from outside
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/probe_stage.h"

namespace tilescope {

/// In the order of ProbeStage.
inline constexpr std::array probe_stage_names = std::to_array<std::string_view>(
    {"prologue", "wait",        "scores", "copy_k",   "softmax", "copy_v",     "product",   "store",       "load",
     "copy",     "wait_empty",  "copy_q", "wait_q",   "wait_k",  "wait_v",     "wait_turn", "wait_scores", "wait_product",
     "rescale",  "wait_groups", "ticket", "row_dots", "pairs",   "other_half", "d_q_part",  "convert"});
static_assert(probe_stage_names.size() == probe_stages, "every stage has a name");

struct ProbeInterval {
  ProbeStage stage = ProbeStage::wait;
  int warp = 0;                             // or the role, where the probe has roles
  std::int64_t iteration = 0;               // of the block's tile loop; 0 for the prologue, the iteration count for the store
  double start_cycles = 0, end_cycles = 0;  // SM clock, from the start of the SM's first block
  bool operator==(const ProbeInterval&) const = default;
};

/// When and where a block ran. Blocks are numbered as launched, x fastest.
struct ProbedBlock {
  int launch = 0;
  std::int64_t block = 0;
  int sm = 0;
  double start_ns = 0, end_ns = 0;  // GPU timer, from the start of the first block
  bool operator==(const ProbedBlock&) const = default;
};

/// A block of the probed SM, with the stages of its warps.
struct ProbedSmBlock {
  int launch = 0;
  std::int64_t block = 0;
  double start_cycles = 0, end_cycles = 0;
  std::vector<ProbeInterval> intervals;  // by warp, then by time
  bool operator==(const ProbedSmBlock&) const = default;
};

/// The softmax statistics of the probed row after one tile of K and V. A kernel without running statistics (standard) has one step,
/// after all keys, with alpha 0.
/// Units  m is a scaled score, as in the tile machine
struct ProbedStep {
  double m = 0, l = 0, alpha = 0;
  bool operator==(const ProbedStep&) const = default;
};

/// One key of the probed row of a backward kernel, in fp32 before anything is rounded.
/// Units  s is a scaled score; d_p is what the kernel subtracts D from
struct ProbedPair {
  double s = 0, p = 0, d_p = 0, d_s = 0;
  bool operator==(const ProbedPair&) const = default;
};

/// The cost of the probe: the time of a launch without and with it, by events.
struct ProbedLaunch {
  std::string name;
  double plain_ns = 0, probed_ns = 0;
  bool operator==(const ProbedLaunch&) const = default;
};

struct ProbeResult {
  std::string kernel, device, date, commit;
  AttentionProblem problem;
  TileShape tile;
  std::uint64_t seed = 0;              // InputSource::seed of the inputs, on the plane of the probed row
  double sm_clock_hz = 0;              // measured on the SM while its blocks ran
  double plain_ns = 0, probed_ns = 0;  // all launches
  std::vector<ProbedLaunch> launches;
  std::vector<ProbedBlock> blocks;
  int sm = 0;
  std::vector<std::string> roles;  // of kernels whose warps have roles: what each line of a block shows, as the program names it
  std::vector<ProbedSmBlock> sm_blocks;
  int row_launch = 0;                 // launch whose blocks own query rows: it computes the softmax, or D
  std::int64_t block = 0, row = 0;    // block of that launch, and the probed row inside the block
  std::int64_t plane = 0, query = 0;  // the same row in the problem: plane (batch x head) and query
  std::vector<ProbedStep> steps;
  std::vector<ProbedPair> pairs;  // of a backward kernel: the keys that the row sees, from the first on
  bool operator==(const ProbeResult&) const = default;
};

/// HBM bytes in one sampling interval.
struct BandwidthSample {
  double start_ns = 0, end_ns = 0;  // from the start of the first kept sample
  double read_bytes = 0, write_bytes = 0;
  bool operator==(const BandwidthSample&) const = default;
};

/// HBM traffic over the life of one kernel that starts with a flushed L2, including some idle time before and after.
struct BandwidthRecord {
  std::string kernel, device, date, commit;
  AttentionProblem problem;
  TileShape tile;
  double interval_ns = 0;  // requested sampling interval
  double kernel_ns = 0;    // by events, in a run without sampling
  std::vector<BandwidthSample> samples;
  bool operator==(const BandwidthRecord&) const = default;
};

}  // namespace tilescope
