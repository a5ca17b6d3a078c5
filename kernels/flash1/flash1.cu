// flash1: FlashAttention-1 forward, exactly as the paper's Algorithm 1. The device code is in flash1_kernel.cuh.
#include "kernels/flash1/flash1_kernel.cuh"

namespace tilescope {

/// Computes O = softmax(scale * Q K^T + mask) V: one block a head, with the loop over key tiles outside the loop over query tiles.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   l,m [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; l, m and all sums fp32. Every inner step rounds O, because O returns to global memory
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq ((2 Nk + 2 ceil(Nk/Bc) Nq) D * 2 + 2 ceil(Nk/Bc) Nq * 4) bytes when nothing is masked
///          sm_to_l2 = B Hq (1 + ceil(Nk/Bc)) Nq (D * 2 + 2 * 4) bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2205.14135, Algorithm 1
/// New      over standard: S and P stay in registers, at the price of loading and storing O, l and m in every inner step
LaunchPlan plan_flash1(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {device::plan_flash1<device::NoProbe>(problem, tensors, {})};
}

}  // namespace tilescope
