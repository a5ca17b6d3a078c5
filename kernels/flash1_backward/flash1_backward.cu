// flash1_backward: FlashAttention-1 backward, exactly as the paper's Algorithm 4. The device code is in flash1_backward_kernel.cuh.
#include "kernels/flash1_backward/flash1_backward_kernel.cuh"

namespace tilescope {

/// Computes dQ, dK and dV: one block a key head, with the loop over key tiles outside the loop over query tiles.
/// Shapes   q,o,d_o,dq [B,Hq,Nq,D]   k,v,dk,dv [B,Hkv,Nk,D]   l,m [B,Hq,Nq]
/// Types    q, k, v, o, d_o and gradients fp16 or bf16; l, m and all sums fp32. Every inner step rounds dQ, because dQ returns to
///          global memory
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = (B Hkv 2 Nk D + B Hq 4 ceil(Nk/Bc) Nq D) * 2 + B Hq ceil(Nk/Bc) Nq * 8 bytes when nothing is masked
///          sm_to_l2 = (B Hkv 4 Nk D + B Hq (1 + ceil(Nk/Bc)) Nq D) * 2 bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2205.14135, Algorithm 4
/// New      over standard_backward: P is made again from l and m, at the price of loading and storing dQ in every inner step
LaunchPlan plan_flash1_backward(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {device::plan_flash1_backward<device::NoProbe>(problem, tensors, {})};
}

}  // namespace tilescope
