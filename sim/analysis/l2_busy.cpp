// Writes ranges.
#include "sim/analysis/l2_busy.h"

#include <fmt/format.h>

#include "sim/analysis/format.h"

namespace tilescope {

double looked_up_ns(const Simulation& run, double looked_up_bytes) {
  const GpuSpec& gpu = run.request.gpu;
  if (!gpu.has_l2() || gpu.l2_bytes_per_cycle <= 0) return 0;
  return looked_up_bytes / gpu.l2_bytes_per_cycle / gpu.sm_clock_hz * 1e9;
}

double unshared_ns(const Simulation& run) {
  return run.l2.unshared * run.time.value;
}

std::string l2_busy_text(const L2Busy& busy) {
  if (busy.is_known()) return format_percent(busy.least);
  std::string least = format_percent(busy.least);
  if (least.ends_with(" %")) least.resize(least.size() - 2);
  return fmt::format("{}–{}", least, format_percent(busy.most));
}

std::string busy_share_text(const Simulation& run, Bound bound) {
  return bound == Bound::l2 ? l2_busy_text(l2_busy(run.l2)) : format_percent(run.utilisation[static_cast<std::size_t>(bound)]);
}

}  // namespace tilescope
