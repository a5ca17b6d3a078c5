// Link use at a moment: from the intervals of the focused SM, and from the trace's bins for the whole chip.
#pragma once

#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns the bytes per cycle of the loads (or stores) of `sm` whose bytes cross at `cycle`; 0 if it is not in focus.
double port_rate(const Trace& trace, int sm, double cycle, bool to_sm);

/// Returns bytes per cycle of one tensor on one link, all SMs, in the bin of `cycle`.
double link_rate(const Trace& trace, Tensor tensor, Link link, double cycle);
double link_rate(const Trace& trace, Link link, double cycle);

/// What the focused SM is doing: the current operation (not a load), or the next one and its stall.
struct SmActivity {
  const Interval* doing = nullptr;
  const Interval* next = nullptr;  // while stalled
};
SmActivity sm_activity(const Trace& trace, int sm, double cycle);

/// Returns what to show of `rate`: at most `peak`; 0 is no limit. A tile's bytes count in the bin in which it lands, so one bin can
/// hold more than its link moves: the link was then busy all the time.
double shown_rate(double rate, double peak);

}  // namespace tilescope
