// flash2_backward_two_pass: the gradients of flash2 without additions in memory.
#include "kernels/common/gradient_plan_probed.cuh"

namespace tilescope {

namespace {

/// Returns the blocks of a key head: its key tiles, then the query tiles of its group.
std::int64_t blocks_of(const AttentionProblem& problem, const GradientVariant& variant) {
  return tiles_of(problem.seq_kv, variant.block_kv) + problem.heads / problem.kv_heads * tiles_of(problem.seq_q, variant.block_q);
}

}  // namespace

/// Computes dQ, dK and dV with two kinds of block in one launch: a key tile's block sums dK and dV, a query tile's block sums dQ.
/// Shapes, Types, Limits, Errors   those of flash2_backward, without dq_acc
/// Traffic  l2_to_sm = B Hkv 2 Nk D 2 + B Hq (ceil(Nk/Bc) Nq (2 D 2 + 8) + ceil(Nq/Br) 2 Nk D 2 + Nq (4 D 2 + 8)) bytes when
///          nothing is masked;   sm_to_l2 = B Hkv 2 Nk D 2 + B Hq Nq (D 2 + 4) bytes
/// Source   FlexAttention's backward kernel
/// New      over flash2_backward: seven products instead of five, and nothing is added in memory
LaunchPlan plan_flash2_backward_two_pass(const AttentionProblem& problem, const DeviceTensors& tensors) {
  const auto head_dim = static_cast<int>(problem.head_dim);
  const GradientVariant variant = problem.dtype == DataType::fp16 ? flash2_backward_two_pass_fp16(head_dim, problem.causal)
                                                                  : flash2_backward_two_pass_bf16(head_dim, problem.causal);
  return gradient_launches(variant, problem, gradient_arguments(problem, tensors), blocks_of(problem, variant));
}

LaunchPlan plan_flash2_backward_two_pass_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                                std::span<const ProbeBuffers> buffers) {
  const auto head_dim = static_cast<int>(problem.head_dim);
  const GradientVariant variant = problem.dtype == DataType::fp16 ? flash2_backward_two_pass_probed_fp16(head_dim, problem.causal)
                                                                  : flash2_backward_two_pass_probed_bf16(head_dim, problem.causal);
  return gradient_launches_probed(variant, problem, gradient_arguments(problem, tensors), blocks_of(problem, variant), buffers);
}

}  // namespace tilescope
