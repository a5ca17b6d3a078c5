// standard: attention without fusion, as three launches with S and P in global memory.
#include "kernels/matmul_tiled/scores_plan.h"
#include "kernels/standard/output_kernel.cuh"
#include "kernels/standard/rows_plan.h"

namespace tilescope {

/// Computes S = scale * Q K^T + mask, P = softmax(S) and O = P V in three launches.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   s,p [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart
/// Types    all tensors fp16 or bf16; sums fp32. Storing S rounds it
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (ceil(Nk/Bc) Nq D + 2 ceil(Nq/Br) Nk D + 2 Nq pitch) * 2 bytes when nothing is masked;
///          3 Nq pitch instead of 2 when a row exceeds shared memory (rows_plan.h)
///          sm_to_l2 = B Hq (2 Nq pitch + Nq D) * 2 bytes
/// Leaves out  tiles of S and P above the diagonal: they are not written
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2205.14135, Algorithm 0
/// New      over matmul_tiled and the softmaxes: product, softmax and product make attention
LaunchPlan plan_standard(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {plan_scores("scores", problem, tensors), plan_rows(problem, tensors, ScoresMasked::yes),
          device::plan_output<device::NoProbe>(problem, tensors, {})};
}

}  // namespace tilescope
