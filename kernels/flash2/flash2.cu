// flash2: FlashAttention-2 forward with mma.sync. The device code is in flash2_kernel.cuh.
#include "kernels/common/probe_layout.h"
#include "kernels/flash2/flash2_plan.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V: one block a query tile, with O, m and l in registers.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (Nq D + 2 ceil(Nq/Br) Nk D) * 2 bytes when nothing is masked
///          sm_to_l2 = B Hq (Nq D * 2 + Nq * 4) bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2307.08691, Algorithm 1
/// New      over flash1: the grid replaces the query loop, so O, m and l never leave the registers
LaunchPlan plan_flash2(const AttentionProblem& problem, const DeviceTensors& tensors) {
  const bool half = problem.dtype == DataType::fp16, small = problem.head_dim == 64;
  const Flash2Variant variant = half ? (small ? flash2_fp16_d64(problem.causal) : flash2_fp16_d128(problem.causal))
                                     : (small ? flash2_bf16_d64(problem.causal) : flash2_bf16_d128(problem.causal));
  return {flash2_launch<device::NoProbe>(variant, problem, tensors, {})};
}

LaunchPlan plan_flash2_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                              std::span<const ProbeBuffers> buffers) {
  const bool half = problem.dtype == DataType::fp16, small = problem.head_dim == 64;
  const Flash2Variant variant = half ? (small ? flash2_probed_fp16_d64(problem.causal) : flash2_probed_fp16_d128(problem.causal))
                                     : (small ? flash2_probed_bf16_d64(problem.causal) : flash2_probed_bf16_d128(problem.causal));
  return {flash2_launch<device::Probe>(variant, problem, tensors, device::probe_arguments(buffers[0]))};
}

}  // namespace tilescope
