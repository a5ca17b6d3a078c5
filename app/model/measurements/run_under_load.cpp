// Simulates at the clock, and finds what is recorded of the same run.
#include "app/model/measurements/run_under_load.h"

#include <utility>

namespace tilescope {

std::optional<RunUnderLoad> run_at(const ClockUnderLoad& clock, const Recordings& recordings, const Simulation& simulation,
                                   const Progress& progress) {
  SimulationRequest request = simulation.request;
  request.gpu.sm_clock_hz = clock.hz;
  request.keeps_intervals = false;
  auto made = simulate(request, progress);
  if (!made) return std::nullopt;
  PredictionErrors errors = prediction_errors(recordings, **made, clock);
  return RunUnderLoad{std::move(*made), clock, find_case(recordings.known, simulation), std::move(errors),
                      probe_time(recordings.known, simulation, progress)};
}

std::optional<RunUnderLoad> run_under_load(const Recordings& recordings, const Simulation& simulation, const Progress& progress) {
  const auto clock = clock_under_load(recordings, simulation, progress);
  return clock ? run_at(*clock, recordings, simulation, progress) : std::nullopt;
}

}  // namespace tilescope
