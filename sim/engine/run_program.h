// run_program() is simulate() for a given program object, for example one that is not in the program table.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/memory_system.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Runs `program` as `request` says; the program decides the algorithm and the tile.
/// Errors  those of simulate() about the GPU, occupancy, memory and size; cancelled
Result<std::shared_ptr<const Simulation>> run_program(SimulationRequest request, const ProgramInfo& info,
                                                      const std::shared_ptr<const TileProgram>& program,
                                                      const Progress& progress = {});

// The parts of run_program() that runs on several devices use too.

/// Returns which tensors the program has in HBM, and whether it loads one that it stores. The first and the last block of a launch
/// that have operations stand for all.
TensorUse use_of(const TileProgram& program);
/// Returns when the launch after `launches` starts, in cycles: once the host has launched it and the previous one has ended.
double start_of_next(const std::vector<LaunchTime>& launches, const GpuSpec& gpu);
/// Sets cycles and time of a run whose last launch ends at cycle `end`.
void set_time(Simulation& simulation, double end);
/// Adds bytes and work to `simulation`: those of each operation class times its count on `device`.
void count_operations(Simulation& simulation, const std::vector<OpClass>& classes, DeviceId device);

}  // namespace tilescope
