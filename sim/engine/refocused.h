// refocused(): a simulation seen from another of the SMs whose intervals it kept, as if that one alone had been asked for.
#pragma once

#include <memory>

#include "sim/engine/simulation.h"

namespace tilescope {

/// What simulating again with `sm` in focus would give, without doing so: the same bits for every step of that SM. Shares the
/// trace of `simulation`, which lives on. nullptr where the intervals of that SM were not kept, or so many blocks ran that traces
/// with other SMs in focus keep others of them.
std::shared_ptr<const Simulation> refocused(const std::shared_ptr<const Simulation>& simulation, int sm);

}  // namespace tilescope
