// Runs at the clock of a comparison, or at their own clock under load.
#pragma once

#include <memory>
#include <optional>

#include "app/model/measurements/common_clock.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

/// Simulates a request at the clock of a comparison and keeps its figures, with its useful FLOP count and its recorded time.
/// Errors  cancelled
Result<Outcome> simulate_outcome_at(double clock_hz, const SimulationRequest& request, const Recordings& recordings,
                                    const Progress& progress = {});

struct PairUnderLoad {
  std::shared_ptr<const Simulation> first, second;
};
/// Simulates two runs again at the clock that the GPU holds under the first. On two GPUs each run has its own clock under load. A
/// run whose clock does not change is returned as it is.
/// Errors   those of simulate(); cancelled
Result<PairUnderLoad> pair_under_load(const Measurements& known, const std::shared_ptr<const Simulation>& first,
                                      const std::shared_ptr<const Simulation>& second, const Progress& progress = {});

/// Simulates a request at the clock of a comparison or, where none is given, at its own clock under load, and keeps the figures of
/// that run, with Outcome::under_load. It simulates once where the clock is known before, else twice: the clock follows from a run
/// at the highest.
Result<Outcome> simulate_outcome_under_load(const SimulationRequest& request, const Recordings& recordings,
                                            const Progress& progress = {}, std::optional<double> common_hz = {});

}  // namespace tilescope
