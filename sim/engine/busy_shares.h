// How busy each resource is during a run, and which of them bounds it.
#pragma once

#include <vector>

#include "sim/engine/memory_system.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns how much of the GPU has a block while the launches of `simulation` run.
SmUse use_of_sms(const Simulation& simulation);

/// Fills in the utilisation of the launches and of the run, the use of the L2, and the bound. Wants launches, cycles and ledger.
/// `classes` are those of the program's operations. `end`: cycle at which the last launch ended; what HBM still writes then is no
/// part of the run. `port_cycles`: by launch, busy cycles of the SMs' ports in the busier direction, summed over SMs.
void find_bound(Simulation& simulation, const std::vector<OpClass>& classes, const MemorySystem& memory, double end,
                const std::vector<double>& port_cycles);

}  // namespace tilescope
