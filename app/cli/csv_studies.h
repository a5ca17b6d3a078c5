// The tables of studies that `export` writes as CSV. Each simulates what it compares the run with.
#pragma once

#include <string>

#include "sim/engine/simulation.h"

namespace tilescope {

/// The run, and each change of What if.
std::string what_if_sheet(const Simulation& simulation);
/// Every tile of every map of Fit, with what stops those that do not fit.
std::string fit_sheet(const Simulation& simulation);
/// Every figure of Compare: of the run, and of what a race puts beside it.
std::string compare_sheet(const Simulation& simulation);
/// Every rung of the ladder on this problem and GPU, at the clock of the GPU's description.
std::string ladder_sheet(const Simulation& simulation);
/// The map of the first head: boxes of tiles in one state. Without a mask one box.
std::string mask_sheet(const Simulation& simulation);

}  // namespace tilescope
