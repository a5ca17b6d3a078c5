// How busy the links are at a moment: from the intervals of an SM in focus, and from the trace's bins for the whole chip.
#pragma once

#include "sim/engine/simulation.h"

namespace tilescope {

/// Bytes a cycle that the loads (or stores) of `sm` under way at `cycle` move on average over their life; 0 out of focus.
double port_rate(const Trace& trace, int sm, double cycle, bool to_sm);

/// Bytes a cycle of one tensor on one link, all SMs together, in the bin of `cycle`.
double link_rate(const Trace& trace, Tensor tensor, Link link, double cycle);
double link_rate(const Trace& trace, Link link, double cycle);

/// What an SM in focus is doing: the operation under way that is not a load, or the next one and why it has not begun.
struct SmActivity {
  const Interval* doing = nullptr;
  const Interval* next = nullptr;  // when nothing is under way
};
SmActivity sm_activity(const Trace& trace, int sm, double cycle);

}  // namespace tilescope
