// to_chrome_trace() writes a simulation in the Trace Event format for Perfetto and chrome://tracing.
#pragma once

#include <string>

#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns the JSON text. It has a process for each focused SM, with one lane per unit, or several where copies or stores overlap.
/// It also has the launches and counters of HBM and L2 bandwidth.
/// Units  microseconds, GB/s
std::string to_chrome_trace(const Simulation& simulation);

}  // namespace tilescope
