// flash2_descending: flash2 with the key tiles in descending order, to measure what the order does to the HBM traffic.
#include "kernels/flash2/flash2_plan.cuh"
#include "kernels/flash2_descending/flash2_descending_variants.h"

namespace tilescope {

/// O = softmax(scale * Q K^T + mask) V, as flash2; each block visits its key tiles from the last visible one down to the first.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and every sum fp32
/// Limits   as flash2
/// Traffic  as flash2 between the L2 and the SMs; HBM traffic differs where K and V of the heads in flight exceed the L2
/// Source   arXiv:2307.08691, Algorithm 1; the order of the authors' CUDA kernels. New over flash2: the order
LaunchPlan plan_flash2_descending(const AttentionProblem& problem, const DeviceTensors& tensors) {
  const bool half = problem.dtype == DataType::fp16, small = problem.head_dim == 64, causal = problem.causal;
  const Flash2Variant variant = half ? (small ? flash2_descending_fp16_d64(causal) : flash2_descending_fp16_d128(causal))
                                     : (small ? flash2_descending_bf16_d64(causal) : flash2_descending_bf16_d128(causal));
  return {flash2_launch<device::NoProbe>(variant, problem, tensors, {})};
}

}  // namespace tilescope
