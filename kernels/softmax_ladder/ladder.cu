// softmax_safe, softmax_online, softmax_fused: the rungs from three passes over a row to one; see ladder_kernels.cuh.
#include "kernels/common/by_shape.cuh"
#include "kernels/softmax_ladder/ladder_kernels.cuh"

namespace tilescope {

namespace {

using device::bfloat_type;
using device::half_type;

PlannedLaunch plan(const AttentionProblem& problem, const DeviceTensors& tensors, const void* function, std::int64_t shared_bytes) {
  device::LadderArguments arguments{};
  arguments.s = tensors.s;
  arguments.v = tensors.v;
  arguments.p = tensors.p;
  arguments.o = tensors.o;
  set_lengths_and_heads(arguments, problem);
  arguments.pitch = static_cast<int>(row_pitch(problem.seq_kv, problem.dtype));
  return planned("softmax", function, {problem.seq_q, problem.query_planes(), 1}, device::ladder_threads, shared_bytes, arguments);
}

template <class Kernel>
const void* handle(Kernel* kernel) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace

/// P = softmax(S) by rows, three passes: maximum, sum, result.
/// Shapes   s,p [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart, the pad of S -inf
/// Types    fp16 or bf16; sums fp32
/// Traffic  l2_to_sm = 3 B Hq Nq pitch * 2 bytes     sm_to_l2 = B Hq Nq pitch * 2 bytes
/// Source   arXiv:1805.02867, Algorithm 2
LaunchPlan plan_softmax_safe(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {plan(problem, tensors,
               problem.dtype == DataType::fp16 ? handle(&device::softmax_safe_kernel<half_type>)
                                               : handle(&device::softmax_safe_kernel<bfloat_type>),
               0)};
}

/// P = softmax(S) by rows, two passes: maximum and sum together, result.
/// Shapes   s,p [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart, the pad of S -inf
/// Types    fp16 or bf16; sums fp32
/// Traffic  l2_to_sm = 2 B Hq Nq pitch * 2 bytes     sm_to_l2 = B Hq Nq pitch * 2 bytes
/// Source   arXiv:1805.02867, Algorithm 3. New over softmax_safe: the sum is rescaled whenever the maximum moves
LaunchPlan plan_softmax_online(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {plan(problem, tensors,
               problem.dtype == DataType::fp16 ? handle(&device::softmax_online_kernel<half_type>)
                                               : handle(&device::softmax_online_kernel<bfloat_type>),
               0)};
}

/// O = softmax(S) V by rows, one pass.
/// Shapes   s [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart   v [B,Hkv,Nk,D]   o [B,Hq,Nq,D]
/// Types    fp16 or bf16; sums and weights fp32
/// Limits   D is 64 or 128
/// Traffic  l2_to_sm = B Hq (Nq pitch + Nq Nk D) * 2 bytes     sm_to_l2 = B Hq Nq D * 2 bytes
/// Source   New over softmax_online: times V in the same pass, so P is never stored
LaunchPlan plan_softmax_fused(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {by_shape(problem, [&]<class T, int d>() {
    using Shape = device::FusedShape<T, d>;
    return plan(problem, tensors, handle(&device::softmax_fused_kernel<Shape>), Shape::shared_bytes);
  })};
}

}  // namespace tilescope
