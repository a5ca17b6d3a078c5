// How a launch fills the GPU: its waves, and what better balance could save.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/engine/simulation.h"

namespace tilescope {

struct LaunchWaves {
  std::int64_t blocks = 0;     // of the grid
  double waves = 0;            // how often the grid fills all block slots; 1 for a persistent launch
  double tiles_per_block = 0;  // of a persistent launch, whose blocks stay and take one tile after another; else 0
};
LaunchWaves waves_of(const Simulation& simulation, std::size_t launch);

/// Returns a lower bound of the time with perfect balance: all block slots of the GPU have a block until their launch ends. It
/// takes each block to last as long as it did, and no launch to be shorter than its longest block. A block that had an SM to itself
/// would last longer beside others, so the bound holds. 0 where the trace does not have every block.
double balanced_ns(const Simulation& simulation);

}  // namespace tilescope
