// Finds the counters of a pattern.
#include <algorithm>

#include "sim/analysis/bank_counters.h"

namespace tilescope {

const BankCounters* find_bank_counters(std::string_view pattern, bool swizzled) {
  const auto all = bank_counters();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const BankCounters& row) { return row.pattern == pattern && row.swizzled == swizzled; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace tilescope
