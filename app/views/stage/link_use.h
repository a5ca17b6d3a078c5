// Link use at a moment: from the intervals of the focused SMs.
#pragma once

#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns the bytes per cycle of the loads (or stores) of `sm` whose bytes cross at `cycle`; 0 if it is not in focus.
double port_rate(const Trace& trace, int sm, double cycle, bool to_sm);

/// What the focused SM is doing: the current operation (not a load), or the next one and its stall.
struct SmActivity {
  const Interval* doing = nullptr;
  const Interval* next = nullptr;  // while stalled
};
SmActivity sm_activity(const Trace& trace, int sm, double cycle);

/// Returns what to show of `rate`: at most `peak`; 0 is no limit.
double shown_rate(double rate, double peak);

}  // namespace tilescope
