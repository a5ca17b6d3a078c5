// Plans the tiled product S = scale Q K^T: all of matmul_tiled, and the first launch of standard.
#pragma once

#include "kernels/planned_launch.h"

namespace tilescope {

PlannedLaunch plan_scores(std::string_view name, const AttentionProblem& problem, const DeviceTensors& tensors);

}  // namespace tilescope
