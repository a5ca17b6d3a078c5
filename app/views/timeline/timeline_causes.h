// Why an operation waited: what it waited for, why that was late, and so on back to the first cause.
//
//   P·V waited ◄── V₃ landed late ◄── its buffer was taken ◄── P·V of the tile before ended late ◄── … ◄── V₀ came from HBM
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/model/timeline_data.h"

namespace tilescope {

/// One operation of the chain.
struct CauseLink {
  std::size_t interval = 0;  // of the focused SM
  double waited = 0;         // cycles between its being ready and its start
  std::string name;          // "V₃", "O"
  std::string why;           // "waited 210 cycles for data: V₃ from HBM"; of the last one, why it goes no further back
};

/// What interval `i` of the focused SM waited for: an interval of the same SM. nullopt where it did not wait, or for what is not an
/// operation (the launch before it, the start of everything).
std::optional<std::size_t> blocker_of(const Simulation& simulation, const TimelineData& data, std::size_t i);

/// From `i` back to the first cause, at most `most` operations. Operations that did not wait are passed over: they ran as soon as
/// the one before them in their block was done.
std::vector<CauseLink> cause_chain(const Simulation& simulation, const TimelineData& data, std::size_t i, std::size_t most = 12);

}  // namespace tilescope
