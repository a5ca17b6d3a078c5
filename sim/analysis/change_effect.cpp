// A run on the unchanged GPU, and those that tell the noise.
#include "sim/analysis/change_effect.h"

#include <algorithm>
#include <utility>

#include "sim/analysis/what_if.h"

namespace tilescope {

Result<ChangeEffect> effect_of_change(const Simulation& changed, const GpuSpec& unchanged, const Progress& progress) {
  SimulationRequest real = changed.request;
  real.gpu = unchanged;
  real.keeps_intervals = false;
  const auto base = simulate_outcome(real, progress);
  if (!base) return base.error();
  if (!base->done()) return Error{base->refusal};
  std::vector<Jitter> runs = jitters(real);
  for (Jitter& jitter : runs) {
    auto longer = simulate_outcome(jitter.longer, progress);
    if (!longer) return longer.error();
    auto shorter = simulate_outcome(jitter.shorter, progress);
    if (!shorter) return shorter.error();
    jitter.longer_outcome = std::move(*longer);
    jitter.shorter_outcome = std::move(*shorter);
  }
  const double before = base->time_ns;
  return ChangeEffect{*base, before > 0 ? changed.time.value / before - 1 : 0, std::max(noise_of(runs, before), least_difference)};
}

}  // namespace tilescope
