// What `simulate` prints: a table for people, one JSON object for programs.
#pragma once

#include <string>

#include "sim/analysis/next_limit.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// What the simulation cost this machine.
struct HostCost {
  double wall_ms = 0;
  std::int64_t peak_rss_bytes = 0;
};

/// Aligned text: problem, tile, launches with their occupancy, traffic beside the closed form, work, memory, time, and what would
/// bound the run next. `limit` may be nullptr: it is then left out.
std::string report_table(const Simulation& simulation, const NextLimit* limit, const HostCost& cost);

/// One object of schema "tilescope.simulation/1" and a line's end.
std::string report_json(const Simulation& simulation, const NextLimit* limit, const HostCost& cost);

}  // namespace tilescope
