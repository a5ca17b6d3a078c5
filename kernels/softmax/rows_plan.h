// The launch of the softmax by rows, which stands between the two products of standard and of standard_cublas.
#pragma once

#include "kernels/planned_launch.h"

namespace tilescope {

enum class ScoresMasked : bool { no, yes };

/// Where S is masked already, only the tiles that a row of tiles visits are read and written; else P is written whole.
PlannedLaunch plan_rows(const AttentionProblem& problem, const DeviceTensors& tensors, ScoresMasked masked);

}  // namespace tilescope
