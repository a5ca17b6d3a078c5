// SMs in groups: sides, and how few blocks are spread.
#include "sim/engine/sm_order.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

struct SmGroup {
  int sms, side;
};

/// GPCs in the order in which an H200 deals blocks to them, with the side of the L2 that they are on; the first are four pairs of
/// SMs outside of any GPC that clusters use. Source: kernels/measured/h200-l2-2026-11-21.txt.
constexpr std::array<SmGroup, 9> h200_groups = {{{8, 0}, {8, 0}, {16, 0}, {16, 1}, {16, 1}, {16, 1}, {16, 0}, {18, 1}, {18, 0}}};

/// Of other GPUs no groups are known: the first half of the SMs is taken as one side.
std::vector<SmGroup> groups_of(const GpuSpec& gpu) {
  const auto sms = static_cast<int>(gpu.sm_count);
  if (sms == 132 && gpu.l2_partitions >= 2) return {h200_groups.begin(), h200_groups.end()};
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
