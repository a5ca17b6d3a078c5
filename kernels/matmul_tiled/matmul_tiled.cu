// matmul_tiled: S = scale Q K^T by tiles on the tensor cores. The device code is in scores_kernel.cuh.
#include "kernels/matmul_tiled/scores_kernel.cuh"
#include "kernels/matmul_tiled/scores_plan.h"

namespace tilescope {

PlannedLaunch plan_scores(std::string_view name, const AttentionProblem& problem, const DeviceTensors& tensors) {
  return device::plan_scores<device::NoProbe>(name, problem, tensors, {});
}

/// Computes S = scale * Q K^T, one block a tile of S.
/// Shapes   q [B,Hq,Nq,D]   k [B,Hkv,Nk,D]   s [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart
/// Types    q,k,s fp16 or bf16; sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (ceil(Nk/Bc) Nq + ceil(Nq/Br) Nk) D * 2 bytes     sm_to_l2 = B Hq Nq pitch * 2 bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   our own
/// New      over matmul_naive: one load of a K tile serves all rows of a Q tile; products on the tensor cores
LaunchPlan plan_matmul_tiled(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {plan_scores("product", problem, tensors)};
}

}  // namespace tilescope
