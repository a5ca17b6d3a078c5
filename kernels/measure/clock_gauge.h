// The SM clock during some work, without a profiler: every SM's cycle counter and global timer, read before and after.
//
//   marks │ event │ work │ event │ marks        the work and the overhead between the marks
//   marks │ event │ empty│ event │ marks        the overhead alone
//
// The overhead must be subtracted: a GPU lowers its clock within microseconds of the start of tensor-core work and raises it as
// fast afterwards, so a short kernel's reading would be half overhead at a higher clock. SMs without a block can keep the higher
// clock: a reading is of the slowest SMs, as many as have blocks. Where power limits the clock, one repeat of the same work can run
// a quarter slower than the next: each has a clock of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device.h"

namespace tilescope {

/// One SM's counters at one time.
struct ClockMark {
  std::uint64_t cycles = 0, ns = 0;
};
/// Cycles and nanoseconds between two marks of an SM, as means over SMs.
struct ClockReading {
  double cycles = 0, ns = 0;  // 0: no SM was read both times
};
/// Clears the marks that are still those of `last`: no block of the marks landed on these SMs since.
void clear_stale_marks(std::span<ClockMark> marks, std::span<const ClockMark> last);
/// Returns the mean over the `busy_sms` SMs whose clocks are lowest, of those that were read both times.
ClockReading reading_of_slowest(std::span<const ClockMark> before, std::span<const ClockMark> after, std::int64_t busy_sms);

/// Reads the clock of one piece of work at a time, from begin() … end() around it, once the overhead is known.
/// begin() and end() only launch: the host can put both into the stream before the first begins, so that no idle time passes
/// between the marks.
class ClockGauge {
 public:
  static Result<ClockGauge> make(const DeviceInfo& device);
  Status begin();
  Status end();
  /// Waits for everything launched since begin(). `busy_sms`: how many SMs the work has blocks for.
  Result<ClockReading> read(std::int64_t busy_sms);
  /// Takes a reading of empty kernels into the mean overhead.
  void add_overhead(const ClockReading& empty);
  /// Returns cycles over time of the work alone; 0 where no SM was read both times.
  double hertz(const ClockReading& work) const;

 private:
  int sm_count_ = 0;
  DeviceMemory before_, after_;
  std::vector<ClockMark> begun_;  // the marks of the last begin() that was read
  ClockReading overhead_;         // sums over overheads_
  double overheads_ = 0;
};

/// Writes a ClockMark of every SM to `marks`, indexed by SM number. An SM that no block lands on keeps its old mark.
PlannedLaunch plan_clock_marks(const DeviceMemory& marks, int sm_count);
/// Plans a kernel that does nothing.
PlannedLaunch plan_empty();

}  // namespace tilescope
