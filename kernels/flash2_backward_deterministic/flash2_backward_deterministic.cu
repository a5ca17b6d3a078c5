// flash2_backward_deterministic: flash2_backward with additions in a fixed order.
#include "kernels/common/gradient_plan_probed.cuh"

namespace tilescope {

namespace {

/// Returns the arguments, with the runs of key tiles that the copies of dQ_acc allow.
device::GradientArguments arguments_of(const AttentionProblem& problem, const DeviceTensors& tensors,
                                       const GradientVariant& variant) {
  device::GradientArguments arguments = gradient_arguments(problem, tensors);
  const std::int64_t tiles = tiles_of(problem.seq_kv, variant.block_kv);
  arguments.run_tiles = static_cast<int>(tiles_of(tiles, tensors.dq_acc_copies));
  arguments.copies = static_cast<int>(tiles_of(tiles, arguments.run_tiles));
  return arguments;
}

}  // namespace

/// Computes the gradients of flash2_backward with the same bits in every run: one block a run of key tiles, with a copy of dQ_acc.
/// Shapes, Types, Limits, Errors   those of flash2_backward; dq_acc [copies,B,Hq,Nq,D]
/// Traffic  that of flash2_backward + B Hq (copies - 1) 4 Nq D bytes in each direction
/// Source   arXiv:2307.08691, Algorithm 2; flash-attention's deterministic mode
/// New      over flash2_backward: blocks that would add to the same rows of dQ have copies of their own
LaunchPlan plan_flash2_backward_deterministic(const AttentionProblem& problem, const DeviceTensors& tensors) {
  const auto head_dim = static_cast<int>(problem.head_dim);
  const GradientVariant variant = problem.dtype == DataType::fp16 ? flash2_backward_deterministic_fp16(head_dim, problem.causal)
                                                                  : flash2_backward_deterministic_bf16(head_dim, problem.causal);
  const device::GradientArguments arguments = arguments_of(problem, tensors, variant);
  return gradient_launches(variant, problem, arguments, arguments.copies);
}

LaunchPlan plan_flash2_backward_deterministic_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                                     std::span<const ProbeBuffers> buffers) {
  const auto head_dim = static_cast<int>(problem.head_dim);
  const GradientVariant variant = problem.dtype == DataType::fp16
                                      ? flash2_backward_deterministic_probed_fp16(head_dim, problem.causal)
                                      : flash2_backward_deterministic_probed_bf16(head_dim, problem.causal);
  const device::GradientArguments arguments = arguments_of(problem, tensors, variant);
  return gradient_launches_probed(variant, problem, arguments, arguments.copies, buffers);
}

}  // namespace tilescope
