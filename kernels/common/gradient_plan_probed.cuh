// Plans the launches of a backward kernel with the probe compiled in.
#pragma once

#include <span>

#include "kernels/common/gradient_plan.h"
#include "kernels/common/pair_probe.cuh"
#include "kernels/common/probe_layout.h"

namespace tilescope {

/// Returns the launches of gradient_launches(). `buffers` has one entry a launch.
inline LaunchPlan gradient_launches_probed(const GradientVariant& variant, const AttentionProblem& problem,
                                           const device::GradientArguments& arguments, std::int64_t blocks,
                                           std::span<const ProbeBuffers> buffers) {
  return gradient_launches_with(variant, problem, blocks, [&](std::size_t launch) {
    return device::PairProbe::launch(arguments, device::probe_arguments(buffers[launch]));
  });
}

}  // namespace tilescope
