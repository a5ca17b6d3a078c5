// The tensors of a problem as the Hopper kernels take them.
#pragma once

#include <cstdint>

#include "kernels/common/hopper_arguments.h"
#include "kernels/planned_launch.h"

namespace tilescope {

/// Describes [planes][rows][d] as [planes][d / 64][rows][64]: a box of all panels of some rows lands as one panel after the other.
/// Rows past the end belong to no other plane: they read as zeros and are not written. Empty without a driver or an address.
/// `box_panels`: of a box; 0: all.
/// Source   CUDA driver API, cuTensorMapEncodeTiled
CUtensorMap hopper_map(const void* address, std::int64_t planes, std::int64_t rows, const AttentionProblem& problem, int box_rows,
                       int box_panels = 0);

/// Sets tensors, lengths, heads and scale. `block_kv` is the height of a box of K and V, `box_panels` its width: 0 is all of it.
/// Without a driver or tensors the descriptors stay empty.
void set_hopper_tensors(device::HopperArguments& arguments, const AttentionProblem& problem, const DeviceTensors& tensors,
                        int block_kv, int box_panels = 0);

}  // namespace tilescope
