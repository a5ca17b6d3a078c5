// run_program(): simulate() for a program that is already made, such as one that is in no table.
#pragma once

#include <memory>

#include "sim/engine/simulation.h"

namespace tilescope {

/// Runs `program` as `request` says, with the tile and the algorithm that the request names already decided.
/// Errors  those of simulate() that concern the GPU, occupancy, memory and size; cancelled.
Result<std::shared_ptr<const Simulation>> run_program(SimulationRequest request, const ProgramInfo& info,
                                                      std::shared_ptr<const TileProgram> program, const Progress& progress = {});

}  // namespace tilescope
