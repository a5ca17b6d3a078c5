// Plans the row softmax between the two products of standard attention. The device code is in rows_kernel.cuh.
#include "kernels/standard/rows_kernel.cuh"

namespace tilescope {

PlannedLaunch plan_rows(const AttentionProblem& problem, const DeviceTensors& tensors, ScoresMasked masked) {
  return device::plan_rows<device::NoProbe>(problem, tensors, masked, {});
}

PlannedLaunch plan_masked_softmax(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return plan_rows(problem, tensors, ScoresMasked::no);
}

}  // namespace tilescope
