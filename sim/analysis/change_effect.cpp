// A run on the unchanged GPU, and the orders that tell the noise.
#include "sim/analysis/change_effect.h"

#include <algorithm>
#include <utility>

#include "sim/analysis/what_if.h"

namespace tilescope {

Result<ChangeEffect> effect_of_change(const Simulation& changed, const GpuSpec& unchanged, const Progress& progress) {
  WhatIfTable table;
  table.real = changed.request;
  table.real.gpu = unchanged;
  table.real.keeps_intervals = false;
  const auto base = simulate_outcome(table.real, progress);
  if (!base) return base.error();
  if (!base->done()) return Error{base->refusal};
  table.base = *base;
  for (WhatIf& what : what_ifs(table.real)) {
    if (!what.id.starts_with("order_")) continue;
    auto outcome = simulate_outcome(what.request, progress);
    if (!outcome) return outcome.error();
    table.rows.push_back({std::move(what), std::move(*outcome)});
  }
  const double before = base->time_ns;
  return ChangeEffect{*base, before > 0 ? changed.time.value / before - 1 : 0, std::max(table.noise(), least_difference)};
}

}  // namespace tilescope
