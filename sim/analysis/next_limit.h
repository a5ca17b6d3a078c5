// The next limit: what would hold a run up, and for how long, if what holds it up now were infinitely fast.
#pragma once

#include "sim/analysis/outcome.h"

namespace tilescope {

struct NextLimit {
  Bound without = Bound::latency;  // what bounds the run as it is, and is then lifted
  double before_ns = 0;            // the run as it is
  Outcome outcome;                 // of the run without it: its time, and what bounds it then
  /// -0.38: the run would be so much shorter.
  double change() const { return before_ns > 0 ? outcome.time_ns / before_ns - 1 : 0; }
  /// Whether it alone decides the time. Where lifting it saves little, other limits are as close, and it is only the busiest.
  bool decides() const { return change() <= -least_saved; }
  static constexpr double least_saved = 0.05;
};

/// `gpu` with one resource infinitely fast. Of latency: every latency, and what launches and blocks cost before they begin.
GpuSpec without_limit(GpuSpec gpu, Bound bound);

/// What probably bounds a run: what bounds one of an eighth of its batch and heads. nullopt where there are fewer than eight of
/// them, or where that cannot be simulated either.
std::optional<Bound> likely_bound(const SimulationRequest& request, const Progress& progress = {});

/// Simulates again, with the tile and the blocks per SM of `simulation`, without what bounds it.
/// Errors  those of simulate(); cancelled.
Result<NextLimit> next_limit(const Simulation& simulation, const Progress& progress = {});
/// The same, where the run without `bound` has been simulated already: `bound` is that of `simulation`.
NextLimit next_limit_of(const Simulation& simulation, const Simulation& without);

}  // namespace tilescope
