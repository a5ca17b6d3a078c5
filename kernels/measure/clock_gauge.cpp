// Computes the SM clock from pairs of cycle counter and global timer.
#include "kernels/measure/clock_gauge.h"

#include <algorithm>
#include <vector>

namespace tilescope {

Result<ClockGauge> ClockGauge::make(const DeviceInfo& device) {
  ClockGauge gauge;
  gauge.sm_count_ = device.sm_count;
  const std::int64_t bytes = std::int64_t{device.sm_count} * static_cast<std::int64_t>(sizeof(ClockMark));
  for (DeviceMemory* memory : {&gauge.before_, &gauge.after_}) {
    Result<DeviceMemory> allocated = DeviceMemory::allocate(bytes);
    if (!allocated) return allocated.error();
    *memory = std::move(*allocated);
    if (Status cleared = memory->fill(0); !cleared) return cleared.error();
  }
  return gauge;
}

Status ClockGauge::begin() {
  return launch(plan_clock_marks(before_, sm_count_), nullptr);
}

void clear_stale_marks(std::span<ClockMark> marks, std::span<const ClockMark> last) {
  for (std::size_t sm = 0; sm < std::min(marks.size(), last.size()); ++sm)
    if (marks[sm].ns == last[sm].ns) marks[sm] = {};
}

ClockReading reading_of_slowest(std::span<const ClockMark> before, std::span<const ClockMark> after, std::int64_t busy_sms) {
  std::vector<ClockReading> of_sm;
  for (std::size_t sm = 0; sm < before.size(); ++sm) {
    if (before[sm].ns == 0 || after[sm].ns <= before[sm].ns || after[sm].cycles <= before[sm].cycles) continue;
    of_sm.push_back({static_cast<double>(after[sm].cycles - before[sm].cycles), static_cast<double>(after[sm].ns - before[sm].ns)});
  }
  std::ranges::sort(of_sm, {}, [](const ClockReading& one) { return one.cycles / one.ns; });
  if (std::ssize(of_sm) > busy_sms) of_sm.resize(static_cast<std::size_t>(std::max<std::int64_t>(busy_sms, 1)));
  ClockReading mean;
  for (const ClockReading& one : of_sm) {
    mean.cycles += one.cycles / static_cast<double>(of_sm.size());
    mean.ns += one.ns / static_cast<double>(of_sm.size());
  }
  return mean;
}

Status ClockGauge::end() {
  return launch(plan_clock_marks(after_, sm_count_), nullptr);
}

Result<ClockReading> ClockGauge::read(std::int64_t busy_sms) {
  if (Status waited = wait_for(nullptr); !waited) return waited.error();
  std::vector<ClockMark> before(static_cast<std::size_t>(sm_count_)), after(before.size());
  if (Status read = before_.read(before.data(), before_.bytes()); !read) return read.error();
  if (Status read = after_.read(after.data(), after_.bytes()); !read) return read.error();
  const std::vector<ClockMark> begun = before;
  clear_stale_marks(before, begun_);
  begun_ = begun;
  return reading_of_slowest(before, after, busy_sms);
}

void ClockGauge::add_overhead(const ClockReading& empty) {
  if (empty.ns == 0) return;
  overhead_.cycles += empty.cycles;
  overhead_.ns += empty.ns;
  ++overheads_;
}

double ClockGauge::hertz(const ClockReading& work) const {
  if (work.ns == 0) return 0;
  const double each = overheads_ > 0 ? 1 / overheads_ : 0;
  const double cycles = work.cycles - overhead_.cycles * each, ns = work.ns - overhead_.ns * each;
  // Work shorter than the overhead gives no clock of its own; use the uncorrected one.
  return (ns > 0 && cycles > 0 ? cycles / ns : work.cycles / work.ns) * 1e9;
}

}  // namespace tilescope
