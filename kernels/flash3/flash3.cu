// flash3: the fastest of the Hopper kernels, by head dimension and mask.
#include "kernels/common/hopper_plan.h"
#include <type_traits>

#include "kernels/hopper_causal/hopper_causal_kernel.cuh"
#include "kernels/hopper_wgmma/hopper_wgmma_kernel.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V.
///
///   d 128             hopper_causal's kernel: 128x128, two groups, two stages; without turns where nothing is masked
///   d 64              the same with 192x128, three groups, four stages
///   d 64, and causal  hopper_wgmma's kernel: 128x128, two blocks an SM; under a mask with the longest tiles first.
///   or Nq <= 1024     Tiles of 192 rows waste work at the diagonal and at the end of a short sequence, and a second block hides the
///                     start and end of a tile as well as persistence does
///
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; compute capability 9.0
/// Traffic  l2_to_sm = B Hq (Nq D + 2 ceil(Nq/Br) Nk D) * 2 bytes when nothing is masked; Br as above
///          sm_to_l2 = B Hq (Nq D * 2 + Nq * 4) bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2407.08608 (FlashAttention-3)
/// New      over hopper_causal: tile, ring and kernel fit the head dimension, the mask and the length
LaunchPlan plan_flash3(const AttentionProblem& problem, const DeviceTensors& tensors) {
  constexpr std::int64_t short_rows = 1024;
  if (problem.head_dim == 64 && !problem.causal && problem.seq_q <= short_rows) return plan_hopper_wgmma(problem, tensors);
  return {hopper_by_shape(problem, tensors, []<class T, int d, bool causal>() {
    using namespace device;
    if constexpr (d == 64 && causal) {
      using Shape = WgmmaShape<HopperShape<T, d, 2, 128, 2, causal>, 2, true>;
      return hopper_kernel<Shape>(&hopper_wgmma_kernel<Shape>, HopperGrid::longest_first);
    } else {
      using Shape = TicketShape<HopperShape<T, d, (d == 64 ? 3 : 2), 128, (d == 64 ? 4 : 2), causal>>;
      using Turns = std::conditional_t<d == 128 && !causal, NoTurns, PingPong<Shape::groups>>;
      return hopper_kernel<Shape>(&hopper_causal_kernel<Shape, OverlappedConsumer<Shape, Turns>>, HopperGrid::tickets);
    }
  })};
}

}  // namespace tilescope
