// What `simulate` prints: a table for people, one JSON object for programs.
#pragma once

#include <string>

#include "sim/engine/simulation.h"

namespace tilescope {

/// What the simulation cost this machine.
struct HostCost {
  double wall_ms = 0;
  std::int64_t peak_rss_bytes = 0;
};

/// Aligned text: problem, tile, launches with their occupancy, traffic beside the closed form, work, memory, time.
std::string report_table(const Simulation& simulation, const HostCost& cost);

/// One object of schema "tilescope.simulation/1" and a line's end.
std::string report_json(const Simulation& simulation, const HostCost& cost);

}  // namespace tilescope
