// The arguments of flash3_backward's second launch.
#pragma once

#include <cuda.h>

#include "kernels/common/gradient_arguments.h"

namespace tilescope::device {

struct Flash3BackwardArguments {
  CUtensorMap q, d_o, k, v, dk, dv;
  GradientArguments tensors;
};

}  // namespace tilescope::device
