// hopper_persistent with the probe compiled in (kernels/common/role_probe.cuh).
#include "kernels/common/hopper_plan.h"
#include "kernels/common/role_probe.cuh"
#include "kernels/hopper_persistent/hopper_persistent_kernel.cuh"

namespace tilescope {

LaunchPlan plan_hopper_persistent_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                         std::span<const ProbeBuffers> buffers) {
  const PlannedLaunch own = hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    using Shape = RolesShape<HopperShape<T, d, (d == 64 ? 3 : 2), 128, 2, causal>, true>;
    return hopper_kernel<Shape>(&hopper_persistent_kernel<Shape, RoleProbe>, HopperGrid::persistent);
  });
  return {with_probe(own, buffers[0])};
}

}  // namespace tilescope
