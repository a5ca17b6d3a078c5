// Runs a program with its additions to HBM in the order in which a simulation has them arrive: another order leaves other last
// bits.
#pragma once

#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// Runs all blocks of a simulated run. What blocks add to HBM is added in the order in which these operations end in the
/// simulation; of two that end together, first that of the block that started first.
/// Limits  every SM is in focus, as on a GPU with few SMs
/// Errors  those of run_whole(); an addition whose time the simulation did not keep
/// The simulation must outlive the result.
Result<FinishedRun> run_as_simulated(const Simulation& simulation, const InputSource& inputs, const Progress& progress = {});

}  // namespace tilescope
