// TraceData: what a simulation leaves behind for its trace, before it is put in order.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/trace.h"

namespace tilescope {

/// What an interval's operation touched, so that a state needs no second look at the program.
struct OpNote {
  TileRef tile;
  std::int32_t iteration = -1;
  std::int32_t ring = 0;  // buffer of `dst`
  Slot dst = Slot::none;  // for a store: the slot it leaves from
};

/// A focused SM's operations: one interval and one note each.
struct FocusedSm {
  int sm = 0;
  std::vector<Interval> intervals;
  std::vector<OpNote> notes;
};

/// Bytes that crossed a link at a moment.
struct TrafficEvent {
  double time = 0;
  std::int64_t bytes = 0;
  Tensor tensor;
  Link link = Link::hbm_read;
};

/// What an access changed in the L2.
struct L2Event {
  double time = 0;
  std::int64_t resident = 0, dirty = 0;  // differences
  Tensor tensor;
};

struct TraceData {
  int sm_count = 0;
  double end_cycle = 0;
  std::vector<LaunchTime> launches;
  std::vector<BlockRun> runs;
  TimeBins bins;
  std::vector<FocusedSm> focus;
  bool exact = true;  // the two below hold every event
  std::vector<TrafficEvent> traffic;
  std::vector<L2Event> l2;
  TrafficTable total{};
};

}  // namespace tilescope
