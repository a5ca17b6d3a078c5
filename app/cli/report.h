// Prints the result of `simulate`: a table for people, one JSON object for programs.
#pragma once

#include <string>

#include "sim/analysis/next_limit.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Host time and memory of the simulation.
struct HostCost {
  double wall_ms = 0;
  std::int64_t peak_rss_bytes = 0;
};

/// Returns a table: problem, tile, launches with occupancy, traffic with closed forms, work, memory, time, and the next limit
/// (omitted if `limit` is nullptr).
std::string report_table(const Simulation& simulation, const NextLimit* limit, const HostCost& cost);

/// Returns one JSON object of schema "tilescope.simulation/1" and a newline.
std::string report_json(const Simulation& simulation, const NextLimit* limit, const HostCost& cost);

}  // namespace tilescope
