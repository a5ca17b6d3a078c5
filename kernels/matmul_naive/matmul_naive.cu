// matmul_naive: S = scale Q K^T without reuse: every row of Q loads the whole K tile again.
#include "kernels/common/by_shape.cuh"
#include "kernels/common/warp_tiles.cuh"
#include "kernels/matmul_tiled/scores_arguments.h"

namespace tilescope {

namespace device {

/// A block computes a 128 x 128 tile of S, as in matmul_tiled, but keeps nothing from one row to the next.
template <class Element, int dim>
struct NaiveShape {
  using T = Element;
  static constexpr int br = 128, bc = 128, threads = 128, d = dim, row_bytes = dim * 2;
  static constexpr int shared_bytes = (1 + bc) * row_bytes;
  static constexpr int blocks_per_sm = dim == 64 ? 10 : 6;  // at least; the other blocks hide one block's wait for K
};

template <class Shape>
__global__ __launch_bounds__(Shape::threads, Shape::blocks_per_sm) void matmul_naive_kernel(const ScoresArguments arguments) {
  using T = typename Shape::T;
  constexpr int row_bytes = Shape::row_bytes, row_chunks = row_bytes / 16;
  extern __shared__ __align__(128) char shared[];
  char* const q_row = shared + Shape::bc * row_bytes;

  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const int first_row = blockIdx.y * Shape::br, first_key = blockIdx.x * Shape::bc;
  const int rows = min(Shape::br, seq_q - first_row), keys = min(Shape::bc, seq_kv - first_key);
  const std::int64_t plane = blockIdx.z, head = plane % arguments.heads;
  const std::int64_t kv_plane = plane / arguments.heads * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads);
  const char* const q = static_cast<const char*>(arguments.q) + (plane * seq_q + first_row) * row_bytes;
  const char* const k = static_cast<const char*>(arguments.k) + (kv_plane * seq_kv + first_key + warp * 32) * row_bytes;
  const std::int64_t pitch = arguments.pitch;
  T* const s = static_cast<T*>(arguments.s) + (plane * seq_q + first_row) * pitch + first_key + thread;

  for (int r = 0; r < rows; ++r) {
    if (thread < row_chunks) copy_async(shared_address(q_row) + thread * 16, q + r * row_bytes + thread * 16);
    copy_rows<row_bytes, 32, false>(shared_address(shared) + warp * 32 * row_bytes, k, keys - warp * 32, lane);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    float sum = 0.f;
#pragma unroll 4
    for (int chunk = 0; chunk < row_chunks; ++chunk) {
      const uint4 a = *reinterpret_cast<const uint4*>(q_row + chunk * 16);
      const uint4 b = *reinterpret_cast<const uint4*>(shared + swizzled<row_bytes>(thread, chunk));
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += to_float(reinterpret_cast<const T*>(&a)[i]) * to_float(reinterpret_cast<const T*>(&b)[i]);
    }
    // The padding of a row is written too, with -inf, which no later read can see.
    if (first_key + thread < arguments.pitch)
      s[r * pitch] = from_float<T>(thread < keys ? sum * arguments.scale : minus_infinity());
    __syncthreads();  // every thread has read q and K
  }
}

}  // namespace device

/// Computes S = scale * Q K^T, one row of Q at a time: each thread owns one key and sums one dot product on the FP32 units.
/// Shapes   q [B,Hq,Nq,D]   k [B,Hkv,Nk,D]   s [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart
/// Types    q,k,s fp16 or bf16; sums fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (ceil(Nk/Bc) Nq + Nq Nk) D * 2 bytes     sm_to_l2 = B Hq Nq pitch * 2 bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   our own
/// New      the first rung of the products: the traffic without reuse
LaunchPlan plan_matmul_naive(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {by_shape(problem, [&]<class T, int d>() {
    using Shape = device::NaiveShape<T, d>;
    const std::int64_t key_tiles = (problem.seq_kv + Shape::bc - 1) / Shape::bc,
                       query_tiles = (problem.seq_q + Shape::br - 1) / Shape::br;
    return planned("product", reinterpret_cast<const void*>(&device::matmul_naive_kernel<Shape>),
                   {key_tiles, query_tiles, problem.query_planes()}, Shape::threads, Shape::shared_bytes,
                   device::scores_arguments(problem, tensors));
  })};
}

}  // namespace tilescope
