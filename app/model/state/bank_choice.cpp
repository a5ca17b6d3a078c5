// Looks a choice up among the access patterns.
#include "app/model/state/bank_choice.h"

#include <algorithm>
#include <vector>

#include "sim/analysis/bank_conflicts.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

const AccessPattern& pattern_of(const BankChoice& choice) {
  const auto all = access_patterns();
  const auto found = std::find_if(all.begin(), all.end(), [&](const AccessPattern& each) { return each.id == choice.pattern; });
  return found == all.end() ? all.front() : *found;
}

int wavefront_count(const BankChoice& choice) {
  const AccessPattern& pattern = pattern_of(choice);
  return pattern.is_global ? 1 : bank_use(pattern.access(choice.swizzled)).total;
}

Status check(const BankChoice& choice) {
  const AccessPattern& pattern = pattern_of(choice);
  if (pattern.id != choice.pattern) {
    std::vector<std::string_view> ids;
    for (const AccessPattern& each : access_patterns()) ids.push_back(each.id);
    return refuse("access is '{}': {}", printable(choice.pattern), name_hint(choice.pattern, ids));
  }
  if (choice.swizzled && !pattern.has_swizzle)
    return refuse("the access {} has no swizzled layout: leave swizzled out", pattern.id);
  const int count = wavefront_count(choice);
  if (choice.wavefront < 1 || choice.wavefront > count)
    return refuse("wavefront is {}: the access {} has wavefronts 1 to {}", choice.wavefront, pattern.id, count);
  return Done{};
}

}  // namespace tilescope
