// Which SMs blocks are dealt to, and the side of the L2 that each SM is on. SMs are numbered in the order of dealing.
//
//   all SMs get a block        group 0, group 1, … : one block an SM
//   fewer blocks than SMs      group 0 is filled; the others get a block in turn, and the blocks of a group have numbers in a row
#pragma once

#include <vector>

#include "sim/core/gpu_spec.h"

namespace tilescope {

/// By SM.
std::vector<int> sm_sides(const GpuSpec& gpu);
/// The SMs that get the `blocks` last blocks of a first wave, fewer than there are SMs, in order of the blocks' numbers.
std::vector<int> sms_of_part(const GpuSpec& gpu, int blocks);

}  // namespace tilescope
