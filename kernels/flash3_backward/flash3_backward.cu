// flash3_backward: FlashAttention-3's backward pass on wgmma and TMA.
#include "kernels/common/by_shape.cuh"
#include "kernels/common/gradient_plan.h"
#include "kernels/common/hopper_tensors.h"
#include "kernels/flash3_backward/flash3_backward_kernel.cuh"
#include "kernels/flash3_backward/strip_rows.h"

namespace tilescope {

namespace {

template <class T, int d, bool causal>
LaunchPlan launches_of(const AttentionProblem& problem, const DeviceTensors& tensors) {
  using Shape = device::Flash3BackwardShape<T, d, causal>;
  device::Flash3BackwardArguments arguments{};
  arguments.tensors = gradient_arguments(problem, tensors);
  const std::int64_t query_planes = problem.query_planes(), key_planes = problem.batch * problem.kv_heads;
  const auto of_queries = [&](const void* address) { return hopper_map(address, query_planes, problem.seq_q, problem, Shape::br); };
  const auto of_keys = [&](const void* address) {
    return hopper_map(address, key_planes, problem.seq_kv, problem, Shape::bc / Shape::groups);
  };
  arguments.q = of_queries(tensors.q), arguments.d_o = of_queries(tensors.d_o);
  arguments.k = of_keys(tensors.k), arguments.v = of_keys(tensors.v);
  arguments.dk = of_keys(tensors.dk), arguments.dv = of_keys(tensors.dv);
  static_assert(Shape::br == strip_rows_tile(d));
  const std::array<std::int64_t, 3> rows = {tiles_of(problem.seq_q, Shape::br), problem.heads, problem.batch};
  const StripRows strip_rows = strip_rows_of(problem);
  return {planned("row dots", strip_rows.row_dots, rows, strip_rows.threads, 0, arguments.tensors),
          planned("gradients", reinterpret_cast<const void*>(&device::flash3_backward_kernel<Shape>),
                  {tiles_of(problem.seq_kv, Shape::bc), problem.kv_heads, problem.batch}, Shape::threads, Shape::shared_bytes,
                  arguments),
          planned("convert dQ", strip_rows.convert, rows, strip_rows.threads, 0, arguments.tensors)};
}

}  // namespace

/// Computes dQ, dK and dV of O = softmax(scale * Q K^T + mask) V: one block a key tile, with dK and dV in registers.
/// Shapes   q,o,dO,dq [B,Hq,Nq,D]   k,v,dk,dv [B,Hkv,Nk,D]   lse,delta [B,Hq,Nq]   dq_acc [B,Hq,Nq,D], in strips (strip_rows.cuh)
/// Types    q … dv fp16 or bf16; lse, delta, dq_acc and all sums fp32; P and dS are rounded to the type of q
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; compute capability 9.0
/// Traffic  l2_to_sm = B Hkv 2 Bc ceil(Nk/Bc) D 2 + B Hq (ceil(Nk/Bc) (Br ceil(Nq/Br) 2 D 2 + Nq 8) + 2 Nq D 2 + 4 Nq D) bytes when
///          nothing is masked; Br is 128 (d 64) or 64 (d 128), Bc is 128
///          sm_to_l2 = B Hkv 2 Nk D 2 + B Hq Nq (ceil(Nk/Bc) 4 D [added] + 4 D + 4 + D 2) bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2407.08608, section 3
/// New      over flash2_backward: wgmma, TMA and a producer; dQ comes one step late and is added by the copy engine
LaunchPlan plan_flash3_backward(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return by_shape(problem, [&]<class T, int d>() {
    return problem.causal ? launches_of<T, d, true>(problem, tensors) : launches_of<T, d, false>(problem, tensors);
  });
}

}  // namespace tilescope
