// What a run is refused for before its first block starts, and what is settled with it.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// Errors  no SM or no clock; values that contradict each other; a focus on an SM that the GPU does not have
Status check_gpu(const SimulationRequest& request);
/// Errors  a number of stages for a kernel without a ring of buffers
Status check_stages(const TileProgram& program, const ProgramInfo& info);
/// Returns the tensors that the program has in HBM, in the order of their declaration.
std::vector<Tensor> tensors_in_hbm(const TileProgram& program);

/// Checks a request with its program, and completes it with its tile and its blocks per SM. Fills in the simulation's request,
/// program and memory. Returns the blocks per SM of each launch.
/// Errors  those of check_gpu(); a wrong schema; more blocks than fit an SM; tensors that do not fit HBM; blocks so long that their
///         schedules would fill the host's memory
Result<std::vector<int>> prepare(SimulationRequest& request, const ProgramInfo& info,
                                 const std::shared_ptr<const TileProgram>& program, Simulation& simulation);

}  // namespace tilescope
