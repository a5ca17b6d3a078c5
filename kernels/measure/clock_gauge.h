// The SM clock during some work, without a profiler: every SM's cycle counter and global timer, read before and after.
//
//   marks │ event │ work │ event │ marks        the work and the overhead between the marks
//   marks │ event │ empty│ event │ marks        the overhead alone
//
// The overhead must be subtracted: a GPU lowers its clock within microseconds of the start of tensor-core work and raises it as
// fast afterwards, so a short kernel's reading would be half overhead at a higher clock.
#pragma once

#include "kernels/device.h"

namespace tilescope {

/// Averages over any number of begin() … end() pairs around the work and around an empty kernel. hertz() is the clock of the work.
class ClockGauge {
 public:
  enum class Between : std::uint8_t { work, empty };
  static Result<ClockGauge> make(const DeviceInfo& device);
  Status begin();
  /// Waits for everything launched since begin().
  Status end(Between between = Between::work);
  /// Returns cycles over time of the work alone, averaged over the SMs read both times; 0 before the first end().
  double hertz() const;

 private:
  struct Sum {
    double cycles = 0, ns = 0, readings = 0;
  };
  int sm_count_ = 0;
  DeviceMemory before_, after_;
  Sum work_, empty_;
};

/// One SM's counters at one time.
struct ClockMark {
  std::uint64_t cycles = 0, ns = 0;
};
/// Writes a ClockMark of every SM to `marks`, indexed by SM number. An SM that no block lands on keeps its old mark.
PlannedLaunch plan_clock_marks(const DeviceMemory& marks, int sm_count);
/// Plans a kernel that does nothing.
PlannedLaunch plan_empty();

}  // namespace tilescope
