// The launch of the tiled product S = scale Q K^T, which matmul_tiled is and standard begins with.
#pragma once

#include "kernels/planned_launch.h"

namespace tilescope {

PlannedLaunch plan_scores(std::string_view name, const AttentionProblem& problem, const DeviceTensors& tensors);

}  // namespace tilescope
