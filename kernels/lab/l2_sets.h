// Which lines fall on the same set of a partition of the L2, found by which of them push which others out.
//
//   targets read ─► a random half of the pool's lines read ─► each target timed: lost or not      8192 such passes
//   a line of the pool that makes a target's loss more likely is on the target's set
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/lab/l2_lab.h"

namespace tilescope {

inline constexpr int l2_ways = 16;  // the programs of section sets show them

/// Sets of one partition. A line at home there is on one; a line of the other home is on one too, once this side has a copy of it.
struct SetMap {
  int count = 0;
  std::vector<std::int32_t> set_of;  // by line of the buffer; -1: on none that was found
};

/// Sets of `partition` over the first `lines` lines of the buffer, read by the SMs of its side alone.
/// Limits  the lines of either home must be twice what the partition holds, or more
/// Errors  no set; see lab.status()
SetMap find_sets(L2Lab& lab, int partition, std::uint32_t lines);

}  // namespace tilescope
