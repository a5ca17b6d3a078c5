// hopper_overlap: the softmax of a tile runs under O += P V of the tile before.
#include "kernels/common/hopper_plan.h"
#include "kernels/hopper_overlap/hopper_overlap_kernel.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; compute capability 9.0
/// Traffic  l2_to_sm = B Hq (Nq D + 2 ceil(Nq/Br) Nk D) * 2 bytes when nothing is masked; Br is 192 (d 64) or 128 (d 128)
///          sm_to_l2 = B Hq (Nq D * 2 + Nq * 4) bytes
/// Errors   none: supports() rejects other problems before the launch
/// New      over hopper_producer: S of the next tile beside P of this one, in registers. At d 64 they leave room for a third group
LaunchPlan plan_hopper_overlap(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    using Shape = RolesShape<HopperShape<T, d, (d == 64 ? 3 : 2), 128, 2, causal>>;
    return hopper_kernel<Shape>(&hopper_overlap_kernel<Shape>, HopperGrid::tiles);
  })};
}

}  // namespace tilescope
