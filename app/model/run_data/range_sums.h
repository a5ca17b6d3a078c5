// RangeSums: bytes, busy shares and stalls summed over a chosen stretch of a run.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "app/model/run_data/time_range.h"
#include "app/model/run_data/timeline_data.h"
#include "sim/analysis/l2_busy.h"

namespace tilescope {

struct RangeSums {
  TimeRange range;                                   // within the run
  std::array<std::int64_t, link_count> bytes{};      // of all SMs; of a transfer under way, the part that crossed within
  L2Busy l2;                                         // lookups as many a byte as in the whole run, up to one for each read
  bool exact = true;                                 // the bytes; false where the trace keeps bins alone
  std::array<double, timeline_units.size()> busy{};  // share of the range in which each unit of the SM works, 0 to 1
  struct Stall {
    WaitCause cause = WaitCause::none;
    double cycles = 0;  // summed over the operations of the SM that waited; two that wait at once count twice
  };
  std::vector<Stall> stalls;  // longest first
};

/// Sums over `range`, of which only what lies in the run counts.
RangeSums range_sums(const Simulation& simulation, const TimelineData& data, const TimeRange& range);

}  // namespace tilescope
