// flash1: FlashAttention-1 forward to the letter; see flash1_kernel.cuh for how it works inside.
#include "kernels/flash1/flash1_kernel.cuh"

namespace tilescope {

/// O = softmax(scale * Q K^T + mask) V, one block a head; the loop over keys is outside.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   l,m [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; l, m and every sum fp32. O is rounded in every inner step, because it goes through global memory
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq ((2 Nk + 2 ceil(Nk/Bc) Nq) D * 2 + 2 ceil(Nk/Bc) Nq * 4) bytes when nothing is masked
///          sm_to_l2 = B Hq (1 + ceil(Nk/Bc)) Nq (D * 2 + 2 * 4) bytes
/// Source   arXiv:2205.14135, Algorithm 1. New over standard: S and P stay on the chip
LaunchPlan plan_flash1(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {device::plan_flash1<device::NoProbe>(problem, tensors, {})};
}

}  // namespace tilescope
