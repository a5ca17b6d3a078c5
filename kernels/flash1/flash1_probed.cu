// flash1 with the probe compiled in (kernels/common/probe.cuh).
#include "kernels/common/probe_layout.h"
#include "kernels/flash1/flash1_kernel.cuh"

namespace tilescope {

LaunchPlan plan_flash1_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                              std::span<const ProbeBuffers> buffers) {
  return {device::plan_flash1<device::Probe>(problem, tensors, device::probe_arguments(buffers[0]))};
}

}  // namespace tilescope
