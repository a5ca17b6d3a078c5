// flash1_backward with the probe compiled in (kernels/common/pair_probe.cuh).
#include "kernels/common/pair_probe.cuh"
#include "kernels/common/probe_layout.h"
#include "kernels/flash1_backward/flash1_backward_kernel.cuh"

namespace tilescope {

LaunchPlan plan_flash1_backward_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                       std::span<const ProbeBuffers> buffers) {
  return {device::plan_flash1_backward<device::PairProbe>(problem, tensors, device::probe_arguments(buffers[0]))};
}

}  // namespace tilescope
