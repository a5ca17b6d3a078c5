// Writes ranges.
#include "sim/analysis/l2_busy.h"

#include <fmt/format.h>

#include "sim/analysis/format.h"

namespace tilescope {

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
