// Finds the probe, and simulates at its clock.
#include "app/model/measurements/probe_time.h"
#include "app/model/measurements/find_recorded.h"

#include <utility>

namespace tilescope {

std::optional<ProbeTime> probe_time(const Measurements& known, const Simulation& simulation, const Progress& progress) {
  for (auto& found : find_probes(known, simulation)) {
    const ProbeResult& probe = found->probe;
    if (probe.plain_ns <= 0 || probe.sm_clock_hz <= 0) continue;
    SimulationRequest request = simulation.request;
    request.gpu.sm_clock_hz = probe.sm_clock_hz;
    request.keeps_intervals = false;
    const auto made = simulate(request, progress);
    if (!made) return std::nullopt;
    return ProbeTime{std::move(found), (*made)->time.value};
  }
  return std::nullopt;
}

}  // namespace tilescope
