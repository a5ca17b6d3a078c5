// Which algorithm stands beside which, in a race and under the roofline.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// Whether two runs race, and which program runs beside the algorithm.
struct Race {
  bool on = false;
  std::string with;  // empty: the baseline of its family

  Race() = default;
  Race(bool is_on, std::string partner = {}) : on(is_on), with(std::move(partner)) {}
  explicit operator bool() const { return on; }
  bool operator==(const Race&) const = default;
};

/// Returns (baseline, candidate): the baseline of the algorithm's family, and the algorithm. For the baseline itself the candidate
/// is the best of the family. The algorithm twice if there is no such program. `with`: the program beside the algorithm, if
/// partners_of() has it.
std::pair<std::string, std::string> racers(std::string_view algorithm, std::string_view with = {});

/// Returns the programs that can race against an algorithm.
std::vector<const ProgramInfo*> partners_of(std::string_view algorithm);

/// The other one of the two; empty where there is none.
std::string companion_of(std::string_view algorithm);

/// The request with the algorithm of a rival. A rival without a page table finds K and V without pages.
SimulationRequest request_of_rival(SimulationRequest request, std::string algorithm);

/// Whether a program is listed beside another of its family. The rungs of the Hopper ladder are listed beside each other; beside
/// other programs only FlashAttention-3, the last rung, is.
bool is_compared(const ProgramInfo& row, const ProgramInfo& chosen);

}  // namespace tilescope
