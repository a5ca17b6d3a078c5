// Finds which lines share a set of an L2 partition, from which lines evict which others.
//
//   read targets ─► read a random half of the pool's lines ─► time each target: still in the L2 or evicted      8192 such passes
//   A pool line that makes a target's eviction more likely is on the target's set.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/lab/l2_lab.h"

namespace tilescope {

inline constexpr int l2_ways = 16;  // section "sets" of tilescope_l2_policy shows the 16 ways

/// The sets of one partition. A line at home in the partition is on one set. A line of the other home is too, once this side holds
/// a copy of it.
struct SetMap {
  int count = 0;
  std::vector<std::int32_t> set_of;  // by line of the buffer; -1: no set was found
};

/// Returns the sets of `partition` over the first `lines` lines of the buffer, read by the SMs of its side only.
/// Limits   the lines of each home must be at least twice the partition's capacity
/// Errors   an empty map: see lab.status()
SetMap find_sets(L2Lab& lab, int partition, std::uint32_t lines);

}  // namespace tilescope
