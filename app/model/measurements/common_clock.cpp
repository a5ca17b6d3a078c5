// Finds the clock that runs share.
#include "app/model/measurements/common_clock.h"

#include <memory>
#include <numeric>
#include <vector>

#include "app/model/background/parallel.h"

namespace tilescope {

SimulationRequest at_clock(SimulationRequest request, double clock_hz) {
  if (clock_hz > 0 && !clock_is_users(request.gpu)) request.gpu.sm_clock_hz = clock_hz;
  return request;
}

Result<double> clock_of_comparison(const SimulationRequest& first, const Recordings& recordings, const Progress& progress) {
  SimulationRequest request = first;
  request.keeps_intervals = false;
  request.give_up_after_cycles = 0;
  const auto made = simulate(request, progress);
  if (!made && made.error().kind == Error::Kind::cancelled) return made.error();
  const auto clock = made ? clock_under_load(recordings, **made, progress) : std::nullopt;
  if (!clock && is_cancelled(progress)) return simulation_cancelled();
  return clock ? clock->hz : 0;
}

Result<RankingClock> clock_of_ranking(std::span<const SimulationRequest> requests, const Recordings& recordings, int threads,
                                      const Progress& progress) {
  std::vector<std::shared_ptr<const Simulation>> runs(requests.size());
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool whole = on_cores(order, threads, [&](std::size_t i) {
    SimulationRequest request = requests[i];
    request.keeps_intervals = false;
    request.give_up_after_cycles = 0;
    const auto made = simulate(request, progress);
    if (made) runs[i] = *made;
    return made || made.error().kind != Error::Kind::cancelled;
  });
  if (!whole) return simulation_cancelled();
  const Simulation* fastest = nullptr;
  for (const auto& run : runs)
    if (run != nullptr && (fastest == nullptr || run->cycles.value <= fastest->cycles.value)) fastest = run.get();
  if (fastest == nullptr) return RankingClock{};
  const auto clock = clock_under_load(recordings, *fastest, progress);
  if (!clock && is_cancelled(progress)) return simulation_cancelled();
  return clock ? RankingClock{clock->hz, fastest->request.algorithm} : RankingClock{};
}

}  // namespace tilescope
