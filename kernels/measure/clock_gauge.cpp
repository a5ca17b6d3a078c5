// The SM clock from pairs of cycle counter and global timer.
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

Status ClockGauge::end() {
  if (Status launched = launch(plan_clock_marks(after_, sm_count_), nullptr); !launched) return launched;
  if (Status done = wait_for(nullptr); !done) return done;
  std::vector<ClockMark> before(static_cast<std::size_t>(sm_count_)), after(before.size());
  if (Status read = before_.read(before.data(), before_.bytes()); !read) return read;
  if (Status read = after_.read(after.data(), after_.bytes()); !read) return read;
  for (std::size_t sm = 0; sm < before.size(); ++sm) {
    if (before[sm].ns == 0 || after[sm].ns <= before[sm].ns || after[sm].cycles <= before[sm].cycles) continue;
    cycles_ += static_cast<double>(after[sm].cycles - before[sm].cycles);
    ns_ += static_cast<double>(after[sm].ns - before[sm].ns);
  }
  return Done{};
}

}  // namespace tilescope
