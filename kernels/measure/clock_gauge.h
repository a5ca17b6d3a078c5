// The SM clock while something ran, without a profiler: cycle counter and global timer of every SM, read before and after.
//
//   marks │ event │ work │ event │ marks        what it took, and what lies between the marks anyway
//   marks │ event │ empty│ event │ marks        what lies between them anyway
//
// A GPU lowers its clock within microseconds of a product's start and raises it as soon after the end, so that of a short kernel
// the ways between the marks, at a higher clock, would be half of what is read. The second line is taken from the first.
#pragma once

#include "kernels/device.h"

namespace tilescope {

/// begin() … end(), any number of times with work between them, and with as many empty kernels; hertz() is the clock of the work.
class ClockGauge {
 public:
  enum class Between : std::uint8_t { work, empty };
  static Result<ClockGauge> make(const DeviceInfo& device);
  Status begin();
  /// Waits for what was launched since begin().
  Status end(Between between = Between::work);
  /// Cycles over time of the work alone, means over all SMs that were read both times; 0 before the first end().
  double hertz() const;

 private:
  struct Sum {
    double cycles = 0, ns = 0, readings = 0;
  };
  int sm_count_ = 0;
  DeviceMemory before_, after_;
  Sum work_, empty_;
};

/// One SM's counters at one moment.
struct ClockMark {
  std::uint64_t cycles = 0, ns = 0;
};
/// Writes a ClockMark of every SM to `marks`, by SM number. SMs that no block landed on keep what was there.
PlannedLaunch plan_clock_marks(const DeviceMemory& marks, int sm_count);
/// A kernel that does nothing.
PlannedLaunch plan_empty();

}  // namespace tilescope
