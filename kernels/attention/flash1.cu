// flash1: FlashAttention-1 forward to the letter; see flash1_kernel.cuh for how it works inside.
#include "kernels/attention/flash1_kernel.cuh"
#include "kernels/planned_launch.h"

namespace tilescope {

namespace {

template <class T, int d>
LaunchPlan plan(const AttentionProblem& problem, const device::Flash1Arguments& arguments) {
  using Shape = device::Flash1Shape<T, d>;
  return {planned("attention", reinterpret_cast<const void*>(&device::flash1_kernel<Shape>), {problem.query_planes(), 1, 1},
                  Shape::threads, Shape::shared_bytes, arguments)};
}

}  // namespace

/// O = softmax(scale * Q K^T + mask) V, one block a head; the loop over keys is outside.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   l,m [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; l, m and every sum fp32. O is rounded in every inner step, because it goes through global memory
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq ((2 Nk + 2 ceil(Nk/Bc) Nq) D * 2 + 2 ceil(Nk/Bc) Nq * 4) bytes when nothing is masked
///          sm_to_l2 = B Hq (1 + ceil(Nk/Bc)) Nq (D * 2 + 2 * 4) bytes
/// Source   arXiv:2205.14135, Algorithm 1. New over standard: S and P stay on the chip
LaunchPlan plan_flash1(const AttentionProblem& problem, const DeviceTensors& tensors) {
  device::Flash1Arguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.l = tensors.l;
  arguments.m = tensors.m;
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.heads = static_cast<int>(problem.heads);
  arguments.kv_heads = static_cast<int>(problem.kv_heads);
  arguments.scale = static_cast<float>(problem.scale());
  arguments.causal = problem.causal;
  const bool small = problem.head_dim == 64;
  if (problem.dtype == DataType::fp16)
    return small ? plan<device::half_type, 64>(problem, arguments) : plan<device::half_type, 128>(problem, arguments);
  return small ? plan<device::bfloat_type, 64>(problem, arguments) : plan<device::bfloat_type, 128>(problem, arguments);
}

}  // namespace tilescope
