// simulate() runs a tile program through the memory and the timing model. The window and the command line both call it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/engine/block_order.h"
#include "sim/engine/trace.h"
#include "sim/masks/mask_choice.h"
#include "sim/memory/ledger.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

struct SimulationRequest {
  std::string algorithm{default_algorithm};
  AttentionProblem problem;
  /// What the problem's mask and score change are made from, for whatever sizes it has; empty: they are as given.
  MaskChoice masking;
  std::optional<ProgramTile> tile;   // absent: the program's default
  std::optional<int> blocks_per_sm;  // absent: as many as fit; never more
  BlockOrder block_order = BlockOrder::launch;
  KeyOrder key_order = KeyOrder::ascending;  // the order of a block's key tiles; overrides that of `tile`
  GpuSpec gpu;
  int focus_sm = 0;
  /// Further SMs whose intervals are kept while there is room. No number depends on them.
  std::vector<int> also_in_focus;
  /// False if only totals are wanted. The trace then has no intervals, which take most of a small simulation's memory.
  bool keeps_intervals = true;
  /// Cycles after which the simulation is cancelled: a search wants to know no more than that others are quicker. 0: never.
  double give_up_after_cycles = 0;
};

enum class Bound : std::uint8_t { tensor, exp, fp32, l2, hbm, smem, latency };
std::string_view to_string(Bound bound);
inline constexpr int bound_count = 7;
inline constexpr std::array<std::string_view, bound_count> bound_names = {"tensor", "exp",  "fp32",   "l2",
                                                                          "hbm",    "smem", "latency"};  // by Bound
/// Returns whether all SMs share the resource. Each SM has its own of the others.
constexpr bool is_shared(Bound bound) {
  return bound == Bound::l2 || bound == Bound::hbm;
}

struct LaunchResult {
  std::string name;
  std::int64_t blocks = 0;
  int threads = 0;
  std::int64_t shared_bytes = 0;
  int blocks_per_sm = 0;
  double waves = 0;
  Cycles cycles;
  /// HBM's work during the launch. Write-backs still queued at its end count for the next launch; the ledger counts them here.
  double hbm_bytes = 0, hbm_busy_cycles = 0;
  double l2_busy_cycles = 0;  // as utilisation[l2] counts them: of its lookups, its writes or the ports of the SMs, the most
  int sms = 0;                // SMs that got a block
  double sm_cycles = 0;       // cycles that SMs had a block, summed over SMs
  std::int64_t flops = 0;
  std::array<double, bound_count> utilisation{};  // by Bound, as in Simulation, of the launch's time
};

/// The part of the GPU that has work during the launches of a run.
struct SmUse {
  int all = 0, with_blocks = 0;  // SMs, and those that get a block in any launch
  double idle = 0;               // share of the launches' SM time without a block
  static constexpr double many = 0.1;
  bool many_idle() const { return idle >= many; }
  /// Returns whether SMs idle because they never get a block, rather than because theirs end early.
  bool never_used() const { return with_blocks <= (1 - many) * all; }
  bool operator==(const SmUse&) const = default;
};

/// How the L2 serves the SMs. Reads of a line that arrive close together share one lookup, which only lookups see.
struct L2Use {
  Bytes looked_up;      // for reads of SMs, in whole sectors; 0 without an L2 or without a limit of its rate
  double lookups = 0;   // busy share of the run: lookups of reads, or writes if they take longer
  double unshared = 0;  // the same if no read shared a lookup: the bytes read over what the L2 can read. It can exceed 1
  double ports = 0;     // busy share of the SMs' ports to the L2, in the busier direction, of the SM time with a block
  bool operator==(const L2Use&) const = default;
};

/// The result of a simulation. Immutable, and shared between threads.
struct Simulation {
  SimulationRequest request;  // with tile and blocks per SM filled in
  const ProgramInfo* info = nullptr;
  std::shared_ptr<const TileProgram> program;
  Ledger ledger;
  Bytes hbm_write_after_flush;  // hbm_write plus the bytes still dirty in the L2 at the end
  Bytes hbm_write_queued;       // part of hbm_write that HBM writes after the end: the L2 evicted it, and HBM has not come to it
  Bytes reduced;                // part of sm_to_l2 that reduce-adds carry
  std::int64_t flops = 0, exps = 0;
  Bytes peak_hbm, extra_hbm;  // all tensors of the program; those other than Q, K, V, O and their gradients
  Cycles cycles;              // launches, the gaps between them, and the cost of the first launch before it begins
  Nanoseconds time;
  Bound bound = Bound::latency;
  /// By Bound: the busy fraction of each resource, of the run's time. What an SM has of its own counts on the SMs with a block and
  /// while they have one, so that SMs without work do not hide what limits the others. L2 and HBM count as a whole. That of the L2
  /// is the larger of its lookups and the SMs' ports.
  std::array<double, bound_count> utilisation{};
  L2Use l2;
  SmUse sms;
  std::vector<LaunchResult> launches;
  std::shared_ptr<const Trace> trace;
};

/// Returns whether a tensor is neither an input nor a result of attention: all but Q, K, V, O and their gradients.
bool is_intermediate(Tensor tensor);

/// Sets the algorithm and the pass to those of the program that the request means: flash2 with pass `backward` is flash2_backward.
/// Errors  unknown algorithm; a pass that it does not have
Status settle_program(SimulationRequest& request);

/// Returns the tile of the request, or the program's default; nullopt where the request has none and the algorithm is unknown or
/// the problem cannot be.
std::optional<ProgramTile> chosen_tile(const SimulationRequest& request);

/// A callback that gets the progress, 0..1, from time to time; returning false cancels.
using Progress = std::function<bool(double)>;
/// Tells `progress` that all is done. Returns whether it cancels.
inline bool is_cancelled(const Progress& progress) {
  return progress && !progress(1);
}
/// Returns the error of a simulation that was cancelled.
Error simulation_cancelled();

/// What simulate() settles before the first block starts.
struct PlannedRun {
  SimulationRequest request;  // with its algorithm, pass, mask and score change settled
  const ProgramInfo* info = nullptr;
  std::shared_ptr<const TileProgram> program;
};

/// Settles a request and makes its program.
/// Errors  an invalid problem, mask, tile or GPU; cancelled
Result<PlannedRun> plan_run(const SimulationRequest& asked, const Progress& progress = {});

/// Simulates a request.
/// Errors  an invalid problem, tile, GPU or occupancy; tensors that do not fit HBM (with both sizes); cancelled
Result<std::shared_ptr<const Simulation>> simulate(const SimulationRequest& asked, const Progress& progress = {});

}  // namespace tilescope
