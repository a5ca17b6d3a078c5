// standard: attention as three launches, with S and P through global memory; what one writes without fusing.
#include "kernels/attention/output_kernel.cuh"
#include "kernels/matmul/scores_plan.h"
#include "kernels/softmax/rows_plan.h"

namespace tilescope {

namespace {

template <class T, int d>
PlannedLaunch plan_output(const AttentionProblem& problem, const device::OutputArguments& arguments) {
  using Shape = device::OutputShape<T, d>;
  const std::int64_t tiles = (problem.seq_q + Shape::br - 1) / Shape::br;
  return planned("output", reinterpret_cast<const void*>(&device::output_kernel<Shape>), {tiles, problem.query_planes(), 1},
                 Shape::threads, Shape::shared_bytes, arguments);
}

PlannedLaunch plan_output(const AttentionProblem& problem, const DeviceTensors& tensors) {
  device::OutputArguments arguments{};
  arguments.p = tensors.p;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.heads = static_cast<int>(problem.heads);
  arguments.kv_heads = static_cast<int>(problem.kv_heads);
  arguments.causal = problem.causal;
  const bool small = problem.head_dim == 64;
  if (problem.dtype == DataType::fp16)
    return small ? plan_output<device::half_type, 64>(problem, arguments) : plan_output<device::half_type, 128>(problem, arguments);
  return small ? plan_output<device::bfloat_type, 64>(problem, arguments)
               : plan_output<device::bfloat_type, 128>(problem, arguments);
}

}  // namespace

/// S = scale * Q K^T + mask; P = softmax(S); O = P V: three launches.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   s,p [B,Hq,Nq,Nk]
/// Types    all fp16 or bf16; sums fp32. S is rounded on its way through global memory
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (ceil(Nk/Bc) Nq D + 2 ceil(Nq/Br) Nk D + 2 Nq Nk) * 2 bytes when nothing is masked
///          sm_to_l2 = B Hq (2 Nq Nk + Nq D) * 2 bytes
/// Leaves out  tiles above the diagonal: neither S nor P is written there
/// Source   arXiv:2205.14135, Algorithm 0. New over matmul_tiled and the softmaxes: the three make attention
LaunchPlan plan_standard(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {plan_scores("scores", problem, tensors), plan_rows(problem, tensors, ScoresMasked::yes), plan_output(problem, tensors)};
}

}  // namespace tilescope
