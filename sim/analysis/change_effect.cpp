// A run on the unchanged GPU, and those that tell the noise.
#include "sim/analysis/change_effect.h"

#include "sim/analysis/what_if.h"

namespace tilescope {

Result<ChangeEffect> effect_of_change(const Simulation& changed, const GpuSpec& unchanged, const Progress& progress) {
  SimulationRequest real = changed.request;
  real.gpu = unchanged;
  real.keeps_intervals = false;
  const auto base = simulate_outcome(real, progress);
  if (!base) return base.error();
  if (!base->done()) return Error{base->refusal};
  const double before = base->time_ns;
  const auto noise =
      find_noise(real, before, [&](const SimulationRequest& request) { return simulate_outcome(request, progress); });
  if (!noise) return noise.error();
  return ChangeEffect{*base, before > 0 ? changed.time.value / before - 1 : 0, *noise};
}

}  // namespace tilescope
