// Traces a stall back to its first cause.
//
//   P·V stalled ◄── V₃ landed late ◄── its buffer was in use ◄── P·V of the previous tile ended late ◄── … ◄── V₀ came from HBM
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/model/run_data/timeline_data.h"

namespace tilescope {

/// One operation of the chain.
struct CauseLink {
  std::size_t interval = 0;  // of the focused SM
  double waited = 0;         // cycles from ready to start
  std::string name;          // "V₃", "O"
  std::string why;           // "Stalled 210 cycles on data: V₃, from HBM"; for the last one, why it is the first cause
};

/// Returns the interval of the same SM that interval `i` waited for. nullopt if it did not wait, or waited for something else (the
/// previous launch, the start of the run).
std::optional<std::size_t> blocker_of(const Simulation& simulation, const TimelineData& data, std::size_t i);

/// Returns the interval whose signal ended the wait of interval `i` for a token: of several that signal it, the last one.
std::optional<std::size_t> signaller_of(const Simulation& simulation, const TimelineData& data, std::size_t i);

/// Returns the chain from `i` back to the first cause, at most `most` operations. Operations that did not wait are skipped: they
/// ran right after their predecessor.
std::vector<CauseLink> cause_chain(const Simulation& simulation, const TimelineData& data, std::size_t i, std::size_t most = 12);

}  // namespace tilescope
