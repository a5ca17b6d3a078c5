// RunUnderLoad: a run simulated again at its clock under load.
#pragma once

#include <memory>
#include <optional>

#include "app/model/measurements/clock_under_load.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/measurements/prediction_errors.h"
#include "app/model/measurements/probe_time.h"

namespace tilescope {

/// A run at the clock under load. HBM and launches keep their times in seconds, so it takes a simulation of its own.
struct RunUnderLoad {
  std::shared_ptr<const Simulation> simulation;
  ClockUnderLoad clock;
  std::optional<FoundCase> recorded = {};  // the same run on real hardware
  PredictionErrors errors = {};
  std::optional<ProbeTime> probed = {};  // the same run as a probe recorded it
};
/// Simulates a run again at `clock`. Returns nullopt where that is refused or cancelled.
std::optional<RunUnderLoad> run_at(const ClockUnderLoad& clock, const Recordings& recordings, const Simulation& simulation,
                                   const Progress& progress = {});
/// Simulates a run again at clock_under_load(). Returns nullopt where no clock is known, too.
std::optional<RunUnderLoad> run_under_load(const Recordings& recordings, const Simulation& simulation,
                                           const Progress& progress = {});

}  // namespace tilescope
