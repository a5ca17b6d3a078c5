// matmul_tiled: S = scale Q K^T by tiles on tensor cores; see scores_kernel.cuh for how it works inside.
#include "kernels/matmul/scores_kernel.cuh"
#include "kernels/matmul/scores_plan.h"

namespace tilescope {

namespace {

template <class T, int d>
PlannedLaunch plan(std::string_view name, const AttentionProblem& problem, const device::ScoresArguments& arguments) {
  using Shape = device::ScoresShape<T, d>;
  const std::int64_t key_tiles = (problem.seq_kv + Shape::bc - 1) / Shape::bc,
                     query_tiles = (problem.seq_q + Shape::br - 1) / Shape::br;
  return planned(name, reinterpret_cast<const void*>(&device::scores_kernel<Shape>),
                 {key_tiles, query_tiles, problem.query_planes()}, Shape::threads, Shape::shared_bytes, arguments);
}

}  // namespace

PlannedLaunch plan_scores(std::string_view name, const AttentionProblem& problem, const DeviceTensors& tensors) {
  device::ScoresArguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.s = tensors.s;
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.heads = static_cast<int>(problem.heads);
  arguments.kv_heads = static_cast<int>(problem.kv_heads);
  arguments.scale = static_cast<float>(problem.scale());
  arguments.causal = problem.causal;
  const bool small = problem.head_dim == 64;
  if (problem.dtype == DataType::fp16)
    return small ? plan<device::half_type, 64>(name, problem, arguments) : plan<device::half_type, 128>(name, problem, arguments);
  return small ? plan<device::bfloat_type, 64>(name, problem, arguments) : plan<device::bfloat_type, 128>(name, problem, arguments);
}

/// S = scale * Q K^T, one block a tile of S.
/// Shapes   q [B,Hq,Nq,D]   k [B,Hkv,Nk,D]   s [B,Hq,Nq,Nk]
/// Types    q,k,s fp16 or bf16; sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (ceil(Nk/Bc) Nq + ceil(Nq/Br) Nk) D * 2 bytes     sm_to_l2 = B Hq Nq Nk * 2 bytes
/// Source   New over matmul_naive: a tile of K is loaded once for all rows of a tile of Q
LaunchPlan plan_matmul_tiled(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {plan_scores("product", problem, tensors)};
}

}  // namespace tilescope
