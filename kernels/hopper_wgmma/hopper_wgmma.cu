// hopper_wgmma: flash2 with Hopper's instructions, wgmma and TMA, and no roles yet.
#include "kernels/common/hopper_plan.h"
#include "kernels/hopper_wgmma/hopper_wgmma_kernel.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; compute capability 9.0
/// Traffic  l2_to_sm = B Hq (Nq D + 2 ceil(Nq/Br) Nk D) * 2 bytes when nothing is masked; Br is 128
///          sm_to_l2 = B Hq (Nq D * 2 + Nq * 4) bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2307.08691, Algorithm 1; key tiles from the right edge to the left
/// New      over flash2: a warpgroup's products read shared memory without ldmatrix, and one thread copies a whole tile
LaunchPlan plan_hopper_wgmma(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    constexpr int blocks_per_sm = d == 64 ? 2 : 1;
    using Shape = WgmmaShape<HopperShape<T, d, 2, 128, 2, causal>, blocks_per_sm>;
    return hopper_kernel<Shape>(&hopper_wgmma_kernel<Shape>, HopperGrid::tiles);
  })};
}

}  // namespace tilescope
