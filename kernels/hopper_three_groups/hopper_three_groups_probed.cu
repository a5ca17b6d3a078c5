// hopper_three_groups with the probe compiled in (kernels/common/role_probe.cuh).
#include "kernels/common/hopper_plan.h"
#include "kernels/common/role_probe.cuh"
#include "kernels/hopper_producer/hopper_producer_kernel.cuh"

namespace tilescope {

LaunchPlan plan_hopper_three_groups_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                           std::span<const ProbeBuffers> buffers) {
  const PlannedLaunch own = hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    using Shape = RolesShape<HopperShape<T, d, 3, 128, 2, causal>>;
    return hopper_kernel<Shape>(&hopper_producer_kernel<Shape, RoleProbe>, HopperGrid::tiles);
  });
  return {with_probe(own, buffers[0])};
}

}  // namespace tilescope
