// Which algorithm stands beside which, in a race and under the roofline.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "sim/engine/simulation.h"

namespace tilescope {

/// The two of a race, the slower kind first: the first row of the algorithm's family, and the algorithm. Where it is that row
/// itself, the other is the last row of the family that has a button, or the last of all; of backward passes, the first of the last
/// program. The algorithm twice where there is no other.
std::pair<std::string, std::string> racers(std::string_view algorithm);

/// The other one of the two; empty where there is none.
std::string companion_of(std::string_view algorithm);

/// The request with the algorithm of a rival. A rival without a page table finds K and V without pages.
SimulationRequest request_of_rival(SimulationRequest request, std::string algorithm);

/// Whether a program is listed beside another of its family. The rungs of the Hopper ladder are listed beside each other; beside
/// other programs only FlashAttention-3, the last rung, is.
bool is_compared(const ProgramInfo& row, const ProgramInfo& chosen);

}  // namespace tilescope
