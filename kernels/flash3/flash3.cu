// flash3: the fastest of the Hopper kernels, by head dimension and mask.
#include "kernels/common/hopper_plan.h"
#include "kernels/hopper_causal/hopper_causal_kernel.cuh"
#include "kernels/hopper_wgmma/hopper_wgmma_kernel.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V.
///
///   d 128             hopper_causal's kernel: 128x128, two groups, two stages
///   d 64              the same with 192x128, three groups, four stages
///   d 64 and causal   hopper_wgmma's kernel, longest tiles first: 128x128, two blocks an SM. Tiles of 192 rows waste work at the
///                     diagonal, and a second block hides the start and end of a short tile as well as persistence does
///
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; compute capability 9.0
/// Traffic  l2_to_sm = B Hq (Nq D + 2 ceil(Nq/Br) Nk D) * 2 bytes when nothing is masked; Br as above
///          sm_to_l2 = B Hq (Nq D * 2 + Nq * 4) bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2407.08608 (FlashAttention-3)
/// New      over hopper_causal: the tile, the ring and the kernel fit the head dimension and the mask
LaunchPlan plan_flash3(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, []<class T, int d, bool causal>() {
    using namespace device;
    if constexpr (d == 64 && causal) {
      using Shape = WgmmaShape<HopperShape<T, d, 2, 128, 2, causal>, 2, true>;
      return hopper_kernel<Shape>(&hopper_wgmma_kernel<Shape>, HopperGrid::longest_first);
    } else {
      using Shape = TicketShape<HopperShape<T, d, (d == 64 ? 3 : 2), 128, (d == 64 ? 4 : 2), causal>>;
      return hopper_kernel<Shape>(&hopper_causal_kernel<Shape>, HopperGrid::tickets);
    }
  })};
}

}  // namespace tilescope
