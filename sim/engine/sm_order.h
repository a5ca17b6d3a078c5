// The SMs that receive the blocks of a wave, and the L2 partition next to each SM. SMs are numbered in launch order.
//
//   all SMs get a block        group 0, group 1, … : one block per SM
//   fewer blocks than SMs      group 0 is filled first; the rest goes round robin to the other groups; the blocks of a group have
//                              consecutive numbers
#pragma once

#include <vector>

#include "sim/core/gpu_spec.h"

namespace tilescope {

/// Returns the L2 partition next to each SM.
std::vector<int> sm_sides(const GpuSpec& gpu);
/// Returns the SMs that receive the last `blocks` blocks of the first wave, fewer than there are SMs, in block order.
std::vector<int> sms_of_part(const GpuSpec& gpu, int blocks);

}  // namespace tilescope
