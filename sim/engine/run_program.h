// run_program(): simulate() for a program that is already made, such as one that is in no table.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/memory_system.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Runs `program` as `request` says, with the tile and the algorithm that the request names already decided.
/// Errors  those of simulate() that concern the GPU, occupancy, memory and size; cancelled.
Result<std::shared_ptr<const Simulation>> run_program(SimulationRequest request, const ProgramInfo& info,
                                                      std::shared_ptr<const TileProgram> program, const Progress& progress = {});

// Parts of it, for runs on several devices too.
/// Checks the request and fills it in, and with it `simulation`. Returns the blocks per SM of each launch.
Result<std::vector<int>> prepare(SimulationRequest& request, const ProgramInfo& info, std::shared_ptr<const TileProgram> program,
                                 Simulation& simulation);
/// What the first block of a launch loads and stores, all of them do.
TensorUse use_of(const TileProgram& program);
/// Adds the bytes and the work that follow from how often each operation occurs on a device.
void count_operations(Simulation& simulation, const std::vector<OpClass>& classes, DeviceId device);

}  // namespace tilescope
