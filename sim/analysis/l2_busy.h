// L2Busy: the busy share of the L2 as a range, since the model does not know how many reads share a lookup.
#pragma once

#include <algorithm>
#include <string>

#include "sim/analysis/outcome.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// From the busy share with the lookups that the model has, to that if no read shared one. Blocks that stay in step in the model
/// drift apart on hardware and share fewer lookups (docs/model-limits.md, rows 46 and 48).
struct L2Busy {
  double least = 0, most = 0;
  /// Returns whether both ends are the same to a point of a percent: the ports decide, or no lookup is shared.
  bool is_known() const { return most - least < 0.01; }
};

inline L2Busy l2_busy(const L2Use& l2) {
  const double least = std::max(l2.lookups, l2.ports);
  return {least, std::max(least, std::min(1.0, std::max(l2.unshared, l2.ports)))};
}

/// Return the least time that the L2 alone needs for a run: with so many bytes looked up; if no read shared a lookup. 0 where its
/// rate is not limited.
double looked_up_ns(const Simulation& run, double looked_up_bytes);
double unshared_ns(const Simulation& run);
inline bool l2_may_decide(const Simulation& run) {
  return l2_may_decide(unshared_ns(run), run.time.value);
}

/// Returns "21.8–76.6 %", or one figure where both ends are alike.
std::string l2_busy_text(const L2Busy& busy);

/// Returns the busy share of a resource of a run, that of the L2 as a range.
std::string busy_share_text(const Simulation& run, Bound bound);

}  // namespace tilescope
