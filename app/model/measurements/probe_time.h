// ProbeTime: the time of a kernel that a probe recorded, beside the same run simulated at the recorded clock.
#pragma once

#include <memory>
#include <optional>

#include "app/model/measurements/measurements.h"
#include "sim/engine/simulation.h"

namespace tilescope {

struct ProbeTime {
  std::shared_ptr<const KnownProbe> recorded;
  double simulated_ns = 0;
  /// The recorded time without the probe.
  double recorded_ns() const { return recorded->probe.plain_ns; }
  double error() const { return simulated_ns / recorded_ns() - 1; }
};

/// Simulates a run at the clock of its probe. HBM and launches keep their times in seconds, so it takes a simulation of its own.
/// Returns nullopt where no probe recorded this run, its time and its clock; where that is refused or cancelled, too.
std::optional<ProbeTime> probe_time(const Measurements& known, const Simulation& simulation, const Progress& progress = {});

}  // namespace tilescope
