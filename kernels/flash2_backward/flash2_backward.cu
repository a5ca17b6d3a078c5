// flash2_backward: FlashAttention-2 backward with mma.sync. The device code is in kernels/common/key_gradients.cuh and
// gradient_rows.cuh.
#include "kernels/common/gradient_plan_probed.cuh"

namespace tilescope {

/// Computes dQ, dK and dV of O = softmax(scale * Q K^T + mask) V: one block a key tile, with dK and dV in registers.
/// Shapes   q,o,dO,dq [B,Hq,Nq,D]   k,v,dk,dv [B,Hkv,Nk,D]   lse,delta [B,Hq,Nq]   dq_acc [B,Hq,Nq,D], columns permuted
/// Types    q … dv fp16 or bf16; lse, delta, dq_acc and all sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hkv 2 Nk D 2 + B Hq (ceil(Nk/Bc) Nq (2 D 2 + 8) + 2 Nq D 2 + 4 Nq D) bytes when nothing is masked
///          sm_to_l2 = B Hkv 2 Nk D 2 + B Hq Nq (ceil(Nk/Bc) 4 D [added] + 4 D + 4 + D 2) bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2307.08691, Algorithm 2
/// New      over flash1_backward: one block a key tile instead of a head; dQ is added in fp32 in the L2
LaunchPlan plan_flash2_backward(const AttentionProblem& problem, const DeviceTensors& tensors) {
  const auto head_dim = static_cast<int>(problem.head_dim);
  const GradientVariant variant = problem.dtype == DataType::fp16 ? flash2_backward_fp16(head_dim, problem.causal)
                                                                  : flash2_backward_bf16(head_dim, problem.causal);
  return gradient_launches(variant, problem, gradient_arguments(problem, tensors), tiles_of(problem.seq_kv, variant.block_kv));
}

LaunchPlan plan_flash2_backward_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                       std::span<const ProbeBuffers> buffers) {
  const auto head_dim = static_cast<int>(problem.head_dim);
  const GradientVariant variant = problem.dtype == DataType::fp16 ? flash2_backward_probed_fp16(head_dim, problem.causal)
                                                                  : flash2_backward_probed_bf16(head_dim, problem.causal);
  return gradient_launches_probed(variant, problem, gradient_arguments(problem, tensors),
                                  tiles_of(problem.seq_kv, variant.block_kv), buffers);
}

}  // namespace tilescope
