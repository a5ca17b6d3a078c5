// hopper_wgmma_longest: hopper_wgmma with the longest query tiles first, for flash3.
#include "kernels/common/hopper_plan.h"
#include "kernels/hopper_wgmma/hopper_wgmma_kernel.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V as hopper_wgmma does, but takes the query tiles that see the most keys first.
/// Shapes, types, limits, traffic: those of hopper_wgmma
/// Errors   none: supports() rejects other problems before the launch
/// New      over hopper_wgmma: only the order of the blocks, by sets of heads whose K and V fit the L2
LaunchPlan plan_hopper_wgmma_longest(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    constexpr int blocks_per_sm = d == 64 ? 2 : 1;
    using Shape = WgmmaShape<HopperShape<T, d, 2, 128, 2, causal>, blocks_per_sm, true>;
    return hopper_kernel<Shape>(&hopper_wgmma_kernel<Shape>, HopperGrid::grouped);
  })};
}

}  // namespace tilescope
