// hopper_persistent: hopper_ping_pong with one block an SM, which takes every n-th tile.
#include "kernels/common/hopper_plan.h"
#include "kernels/hopper_persistent/hopper_persistent_kernel.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; compute capability 9.0
/// Traffic  l2_to_sm = B Hq (Nq D + 2 ceil(Nq/Br) Nk D) * 2 bytes when nothing is masked; Br is 192 (d 64) or 128 (d 128)
///          sm_to_l2 = B Hq (Nq D * 2 + Nq * 4) bytes
/// Errors   none: supports() rejects other problems before the launch
/// New      over hopper_ping_pong: blocks stay, so the loads of the next tile and the store of the last pass under the products
LaunchPlan plan_hopper_persistent(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    using Shape = RolesShape<HopperShape<T, d, (d == 64 ? 3 : 2), 128, 2, causal>, true>;
    return hopper_kernel<Shape>(&hopper_persistent_kernel<Shape>, HopperGrid::persistent);
  })};
}

}  // namespace tilescope
