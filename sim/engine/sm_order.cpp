// The groups of SMs, and how they share a partial wave.
#include "sim/engine/sm_order.h"

#include <algorithm>

namespace tilescope {

namespace {

std::vector<SmGroup> groups_of(const GpuSpec& gpu) {
  const auto sms = static_cast<int>(gpu.sm_count);
  int grouped = 0;
  for (const SmGroup& group : gpu.sm_groups) grouped += group.sms;
  if (grouped == sms) return gpu.sm_groups;
  // sm.count was changed, so the groups no longer fit. Assume that each partition is next to half of the SMs.
  return {{sms / 2, 0}, {sms - sms / 2, 1}};
}

}  // namespace

std::vector<int> sm_sides(const GpuSpec& gpu) {
  std::vector<int> sides;
  for (const SmGroup& group : groups_of(gpu)) sides.insert(sides.end(), static_cast<std::size_t>(group.sms), group.side);
  return sides;
}

std::vector<int> sms_of_part(const GpuSpec& gpu, int blocks) {
  std::vector<int> sms;
  const std::vector<SmGroup> groups = groups_of(gpu);
  std::vector<int> share(groups.size());
  int left = blocks;
  share[0] = std::min(left, groups[0].sms);
  left -= share[0];
  while (left > 0) {
    const int before = left;
    for (std::size_t g = 1; g < groups.size() && left > 0; ++g)
      if (share[g] < groups[g].sms) ++share[g], --left;
    if (left == before) break;
  }
  int first = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (int i = 0; i < share[g]; ++i) sms.push_back(first + i);
    first += groups[g].sms;
  }
  return sms;
}

}  // namespace tilescope
