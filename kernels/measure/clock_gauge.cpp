// Computes the SM clock from pairs of cycle counter and global timer.
#include "kernels/measure/clock_gauge.h"

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

Status ClockGauge::end(Between between) {
  if (Status launched = launch(plan_clock_marks(after_, sm_count_), nullptr); !launched) return launched;
  if (Status done = wait_for(nullptr); !done) return done;
  std::vector<ClockMark> before(static_cast<std::size_t>(sm_count_)), after(before.size());
  if (Status read = before_.read(before.data(), before_.bytes()); !read) return read;
  if (Status read = after_.read(after.data(), after_.bytes()); !read) return read;
  Sum& sum = between == Between::work ? work_ : empty_;
  for (std::size_t sm = 0; sm < before.size(); ++sm) {
    if (before[sm].ns == 0 || after[sm].ns <= before[sm].ns || after[sm].cycles <= before[sm].cycles) continue;
    sum.cycles += static_cast<double>(after[sm].cycles - before[sm].cycles);
    sum.ns += static_cast<double>(after[sm].ns - before[sm].ns);
    ++sum.readings;
  }
  return Done{};
}

double ClockGauge::hertz() const {
  if (work_.ns <= 0) return 0;
  const auto mean = [](const Sum& sum, double value) { return sum.readings > 0 ? value / sum.readings : 0; };
  const double cycles = mean(work_, work_.cycles) - mean(empty_, empty_.cycles),
               ns = mean(work_, work_.ns) - mean(empty_, empty_.ns);
  // Work shorter than the overhead gives no clock of its own; use the uncorrected one.
  return (ns > 0 && cycles > 0 ? cycles / ns : work_.cycles / work_.ns) * 1e9;
}

}  // namespace tilescope
