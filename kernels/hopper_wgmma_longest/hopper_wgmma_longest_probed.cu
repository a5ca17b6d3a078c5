// hopper_wgmma_longest with the probe compiled in (kernels/common/role_probe.cuh).
#include "kernels/common/hopper_plan.h"
#include "kernels/common/role_probe.cuh"
#include "kernels/hopper_wgmma/hopper_wgmma_kernel.cuh"

namespace tilescope {

LaunchPlan plan_hopper_wgmma_longest_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                            std::span<const ProbeBuffers> buffers) {
  const PlannedLaunch own = hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    constexpr int blocks_per_sm = d == 64 ? 2 : 1;
    using Shape = WgmmaShape<HopperShape<T, d, 2, 128, 2, causal>, blocks_per_sm, true>;
    return hopper_kernel<Shape>(&hopper_wgmma_kernel<Shape, RoleProbe>, HopperGrid::grouped);
  });
  return {with_probe(own, buffers[0])};
}

}  // namespace tilescope
