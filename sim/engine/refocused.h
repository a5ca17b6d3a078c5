// refocused() changes the focused SM of a simulation without running it again.
#pragma once

#include <memory>

#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns the simulation as if only `sm` had been in focus: every step has the same bits. The result shares the trace of
/// `simulation`. Returns nullptr if the intervals of `sm` were not kept, or if there were too many blocks: which of them a trace
/// keeps then depends on the focus.
std::shared_ptr<const Simulation> refocused(const std::shared_ptr<const Simulation>& simulation, int sm);

}  // namespace tilescope
