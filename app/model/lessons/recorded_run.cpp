// Finds a recording as the views do, and also that of a run whose clock alone was set.
#include "app/model/lessons/recorded_run.h"

#include <cmath>
#include <utility>

#include "app/model/requests/assets.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

std::optional<FoundCase> recording_of(const Measurements& measured, const Simulation& run) {
  if (auto found = find_case(measured, run)) return found;
  SimulationRequest request = run.request;
  Result<GpuSpec> gpu = load_gpu(request.gpu.id);
  if (!gpu) return std::nullopt;
  const double clock_hz = std::exchange(request.gpu.sm_clock_hz, gpu->sm_clock_hz);
  if (!same_numbers(request.gpu, *gpu)) return std::nullopt;
  request.gpu = std::move(*gpu);
  auto found = find_case(measured, request);
  constexpr double one_clock = 0.001;
  if (!found || std::abs(clock_hz / found->measured().sm_clock_hz - 1) >= one_clock) return std::nullopt;
  return found;
}

}  // namespace tilescope
