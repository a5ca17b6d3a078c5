// plan_without_kernel(): the plan of every kernel in kernels/no_kernels.cpp.
#pragma once

#include <string_view>

#include "kernels/planned_launch.h"

namespace tilescope {

/// Returns an empty plan in a build without CUDA. A test's device returns a launch, so that it can fail.
LaunchPlan plan_without_kernel(std::string_view kernel);

}  // namespace tilescope
