// standard: attention as three launches, with S and P through global memory; what one writes without fusing.
#include "kernels/matmul_tiled/scores_plan.h"
#include "kernels/standard/output_kernel.cuh"
#include "kernels/standard/rows_plan.h"

namespace tilescope {

/// S = scale * Q K^T + mask; P = softmax(S); O = P V: three launches.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   s,p [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart
/// Types    all fp16 or bf16; sums fp32. S is rounded on its way through global memory
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (ceil(Nk/Bc) Nq D + 2 ceil(Nq/Br) Nk D + 2 Nq pitch) * 2 bytes when nothing is masked
///          sm_to_l2 = B Hq (2 Nq pitch + Nq D) * 2 bytes
/// Leaves out  tiles above the diagonal: neither S nor P is written there
/// Source   arXiv:2205.14135, Algorithm 0. New over matmul_tiled and the softmaxes: the three make attention
LaunchPlan plan_standard(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {plan_scores("scores", problem, tensors), plan_rows(problem, tensors, ScoresMasked::yes),
          device::plan_output<device::NoProbe>(problem, tensors, {})};
}

}  // namespace tilescope
