// simulate(): runs a tile program through the memory and the timing model; the one entry point the window and the command line use.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/engine/block_order.h"
#include "sim/engine/trace.h"
#include "sim/memory/ledger.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

struct SimulationRequest {
  std::string algorithm = "flash2";
  AttentionProblem problem;
  std::optional<ProgramTile> tile;   // the program's default when absent
  std::optional<int> blocks_per_sm;  // what fits when absent; never more than fits
  BlockOrder block_order = BlockOrder::launch;
  KeyOrder key_order = KeyOrder::ascending;  // in which a block visits its key tiles; that of `tile` follows it
  GpuSpec gpu;
  int focus_sm = 0;
  /// SMs whose intervals are kept beside those of focus_sm, while there is room; none of the numbers depends on it.
  std::vector<int> also_in_focus;
  /// False where only totals are wanted: the trace then has no intervals, which take most of the memory of a small GPU.
  bool keeps_intervals = true;
  /// Cycles after which the simulation is cancelled: a search wants to know no more than that others are quicker. 0: never.
  double give_up_after_cycles = 0;
};

enum class Bound : std::uint8_t { tensor, exp, fp32, l2, hbm, smem, latency };
std::string_view to_string(Bound bound);

struct LaunchResult {
  std::string name;
  std::int64_t blocks = 0;
  int threads = 0;
  std::int64_t shared_bytes = 0;
  int blocks_per_sm = 0;
  double waves = 0;
  Cycles cycles;
  /// What HBM did from its start to its end. Write-backs still queued when it ends are the next launch's; the ledger has them here.
  double hbm_bytes = 0, hbm_busy_cycles = 0;
};

/// Immutable once made; shared between threads.
struct Simulation {
  SimulationRequest request;  // with tile and blocks per SM filled in
  const ProgramInfo* info = nullptr;
  std::shared_ptr<const TileProgram> program;
  Ledger ledger;
  Bytes hbm_write_after_flush;  // hbm_write plus what is still dirty in the L2 at the end
  Bytes reduced;                // of what goes from the SMs to the L2, the part that is added to memory there
  std::int64_t flops = 0, exps = 0;
  Bytes peak_hbm, extra_hbm;  // all tensors of the program; those beyond Q, K, V, O and their gradients
  Cycles cycles;              // launches, the gaps between them, and what the first one costs before it begins
  Nanoseconds time;
  Bound bound = Bound::latency;
  std::array<double, 7> utilisation{};  // by Bound: busy fraction of each resource
  std::vector<LaunchResult> launches;
  std::shared_ptr<const Trace> trace;
};

/// Sets algorithm and pass to those of the program that the request means: flash2 with a backward pass is flash2_backward.
/// Errors  unknown algorithm; a pass that it does not have
Status settle_program(SimulationRequest& request);

/// What the request is simulated with: its tile, else the program's default. nullopt where the algorithm is unknown.
std::optional<ProgramTile> chosen_tile(const SimulationRequest& request);

/// Called now and then with 0..1; returning false cancels.
using Progress = std::function<bool(double)>;

/// Errors  every check of the problem, the tile, the GPU and the occupancy; tensors that do not fit HBM (with both sizes);
/// cancelled.
Result<std::shared_ptr<const Simulation>> simulate(const SimulationRequest& asked, const Progress& progress = {});

}  // namespace tilescope
