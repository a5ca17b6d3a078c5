// NextLimit: the bottleneck and the time of a run after its present bottleneck is lifted.
#pragma once

#include "sim/analysis/outcome.h"

namespace tilescope {

struct NextLimit {
  Bound without = Bound::latency;  // the bottleneck of the run, which is lifted
  double before_ns = 0;            // time of the run as it is
  Outcome outcome;                 // the run without this bottleneck: its time and its next bottleneck
  /// Returns the relative change of the time: -0.38 is 38 % shorter. It can be a few per cent longer: seen at
  /// head dimensions above 128, perhaps because groups of warps then reach the tensor cores in another order.
  double change() const { return before_ns > 0 ? outcome.time_ns / before_ns - 1 : 0; }
  /// Whether it alone decides the time. Where lifting it saves little, other limits are as close, and it is only the busiest.
  bool decides() const { return change() <= -least_saved; }
  static constexpr double least_saved = 0.05;
};

/// Returns `gpu` with one resource infinitely fast. For latency, all latencies and the costs of starting launches and blocks are 0.
GpuSpec without_limit(GpuSpec gpu, Bound bound);

/// Estimates the bottleneck of a run by simulating an eighth of its batch and heads. Returns nullopt if there are fewer than eight
/// planes, or if the smaller run cannot be simulated.
std::optional<Bound> likely_bound(const SimulationRequest& request, const Progress& progress = {});

/// Simulates again without the bottleneck of `simulation`, with the same tile and blocks per SM.
/// Errors  those of simulate(); cancelled
Result<NextLimit> next_limit(const Simulation& simulation, const Progress& progress = {});
/// Returns the same from `without`, a simulation in which the bottleneck of `simulation` is lifted already.
NextLimit next_limit_of(const Simulation& simulation, const Simulation& without);

}  // namespace tilescope
