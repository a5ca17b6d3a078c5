// The three launches of standard with the probe compiled in (kernels/common/probe.cuh).
#include "kernels/common/probe_layout.h"
#include "kernels/matmul_tiled/scores_kernel.cuh"
#include "kernels/standard/output_kernel.cuh"
#include "kernels/standard/rows_kernel.cuh"

namespace tilescope {

LaunchPlan plan_standard_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                std::span<const ProbeBuffers> buffers) {
  using device::Probe;
  return {device::plan_scores<Probe>("scores", problem, tensors, device::probe_arguments(buffers[0])),
          device::plan_rows<Probe>(problem, tensors, ScoresMasked::yes, device::probe_arguments(buffers[1])),
          device::plan_output<Probe>(problem, tensors, device::probe_arguments(buffers[2]))};
}

}  // namespace tilescope
