// to_chrome_trace(): a simulation in the Trace Event format, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "sim/engine/simulation.h"

namespace tilescope {

/// A process for each SM in focus, a lane for each of its units (several for copies and stores that overlap), the launches, and
/// counters of HBM and L2 bandwidth. Units: microseconds, GB/s.
std::string to_chrome_trace(const Simulation& simulation);

}  // namespace tilescope
