// Prints the result of `simulate`: a table for people, one JSON object for programs.
#pragma once

#include <string>

#include "app/model/measurements/run_under_load.h"
#include "sim/analysis/change_effect.h"
#include "sim/analysis/next_limit.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Host time and memory of the simulation.
struct HostCost {
  double wall_ms = 0;
  std::int64_t peak_rss_bytes = 0;
};

/// Runs that the report compares with; null: left out.
struct RunsBeside {
  const RunUnderLoad* under_load = nullptr;  // the same run at the clock under load
  const ChangeEffect* effect = nullptr;      // the same run on the GPU without the changes of --set
  PredictionErrors errors = {};              // how far such times were off
  double recorded_lookups = 0;               // bytes that the L2 looked up for the run on the unchanged GPU; 0: not recorded
  Sentence gpu_file = {};                    // which clock times on a GPU from a file have; empty for a shipped one
};

/// Returns a table: problem, tile, launches with occupancy, traffic with closed forms, work, memory, time, and the next limit
/// (omitted if `limit` is nullptr).
std::string report_table(const Simulation& simulation, const NextLimit* limit, const HostCost& cost, const RunsBeside& beside = {});

/// Returns one JSON object of schema "tilescope.simulation/1" and a newline.
std::string report_json(const Simulation& simulation, const NextLimit* limit, const HostCost& cost, const RunsBeside& beside = {});

}  // namespace tilescope
