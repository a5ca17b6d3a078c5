// The tensors of a problem as the Hopper kernels take them.
#pragma once

#include "kernels/common/hopper_arguments.h"
#include "kernels/planned_launch.h"

namespace tilescope {

/// Sets tensors, lengths, heads and scale; `block_kv` is the height of a box of K and V.
/// Without a driver or tensors the descriptors stay empty.
/// Source   CUDA driver API, cuTensorMapEncodeTiled
void set_hopper_tensors(device::HopperArguments& arguments, const AttentionProblem& problem, const DeviceTensors& tensors,
                        int block_kv);

}  // namespace tilescope
