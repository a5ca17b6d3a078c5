// Simulates runs at the clock that they share.
#include "app/model/measurements/runs_at_clock.h"

#include <utility>

#include "app/model/measurements/find_recorded.h"
#include "app/model/measurements/useful_flops.h"

namespace tilescope {

Result<Outcome> simulate_outcome_at(double clock_hz, const SimulationRequest& request, const Recordings& recordings,
                                    const Progress& progress) {
  SimulationRequest totals = at_clock(request, clock_hz);
  totals.keeps_intervals = false;
  const auto simulation = simulate(totals, progress);
  auto outcome = outcome_of(simulation, request);
  if (!simulation) return outcome;
  outcome->useful_flops = useful_flops(**simulation);
  if (const auto found = find_case(recordings.known, **simulation))
    outcome->under_load.recorded_ns = found->measured().time_cold_ns.median;
  return outcome;
}

Result<PairUnderLoad> pair_under_load(const Measurements& known, const std::shared_ptr<const Simulation>& first,
                                      const std::shared_ptr<const Simulation>& second, const Progress& progress) {
  const auto own_clock = [&](const Simulation& run) {
    const auto clock = clock_under_load(recordings_of(known, run.request.gpu), run, progress);
    return clock ? clock->hz : 0;
  };
  const auto again = [&](const std::shared_ptr<const Simulation>& run, double hz) -> Result<std::shared_ptr<const Simulation>> {
    SimulationRequest request = at_clock(run->request, hz);
    if (request.gpu.sm_clock_hz == run->request.gpu.sm_clock_hz) return run;
    return simulate(request, progress);
  };
  const bool one_clock = first->request.gpu.id == second->request.gpu.id && !clock_is_users(first->request.gpu);
  const double of_first_hz = own_clock(*first);
  if (of_first_hz <= 0 && is_cancelled(progress)) return simulation_cancelled();
  auto of_first = again(first, of_first_hz);
  if (!of_first) return of_first.error();
  const double of_second_hz = one_clock ? of_first_hz : own_clock(*second);
  if (of_second_hz <= 0 && is_cancelled(progress)) return simulation_cancelled();
  auto of_second = again(second, of_second_hz);
  if (!of_second) return of_second.error();
  return PairUnderLoad{std::move(*of_first), std::move(*of_second)};
}

Result<Outcome> simulate_outcome_under_load(const SimulationRequest& request, const Recordings& recordings,
                                            const Progress& progress, std::optional<double> common_hz) {
  std::optional<double> hz = common_hz;
  if (clock_is_users(request.gpu)) hz = 0;
  if (!hz) {
    const auto clock = clock_before_simulating(request, recordings, progress);
    if (!clock) return clock.error();
    if (*clock) hz = (*clock)->hz;
  }
  std::shared_ptr<const Simulation> at_highest;
  if (!hz) {
    SimulationRequest totals = request;
    totals.keeps_intervals = false;
    const auto made = simulate(totals, progress);
    if (!made) return outcome_of(made, request);
    at_highest = *made;
    const auto clock = clock_under_load(recordings, **made, progress);
    if (is_cancelled(progress)) return simulation_cancelled();
    hz = clock ? clock->hz : 0;
  }
  auto outcome = at_highest != nullptr && *hz <= 0 ? Result<Outcome>(outcome_of(*at_highest))
                                                   : simulate_outcome_at(*hz, request, recordings, progress);
  if (!outcome || !outcome->done()) return outcome;
  if (at_highest != nullptr && *hz <= 0) outcome->useful_flops = useful_flops(*at_highest);
  if (*hz > 0) {
    outcome->under_load.clock_hz = at_clock(request, *hz).gpu.sm_clock_hz;
    outcome->under_load.time_ns = outcome->time_ns;
  }
  return outcome;
}

}  // namespace tilescope
