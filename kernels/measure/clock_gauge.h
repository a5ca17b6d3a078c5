// The SM clock while something ran, without a profiler: cycle counter and global timer of every SM, read before and after.
#pragma once

#include "kernels/device.h"

namespace tilescope {

/// begin() … work … end(), any number of times; hertz() is the clock over all of them.
class ClockGauge {
 public:
  static Result<ClockGauge> make(const DeviceInfo& device);
  Status begin();
  /// Waits for the work.
  Status end();
  /// Cycles over time, summed over all SMs that were read both times; 0 before the first end().
  double hertz() const { return ns_ > 0 ? cycles_ * 1e9 / ns_ : 0; }

 private:
  int sm_count_ = 0;
  DeviceMemory before_, after_;
  double cycles_ = 0, ns_ = 0;
};

/// One SM's counters at one moment.
struct ClockMark {
  std::uint64_t cycles = 0, ns = 0;
};
/// Writes a ClockMark of every SM to `marks`, by SM number. SMs that no block landed on keep what was there.
PlannedLaunch plan_clock_marks(const DeviceMemory& marks, int sm_count);

}  // namespace tilescope
