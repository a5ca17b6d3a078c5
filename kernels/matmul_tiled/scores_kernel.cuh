// Device code of S = scale Q K^T, one block a tile of S: matmul_tiled, and the first launch of standard attention.
//
//   8 warps, 4 along the rows and 2 along the keys; each computes 32 x 64 elements. A block loads all of d at once.
//   Rows of S are `pitch` elements apart, see row_pitch() in sim/core/tensor.h. The padding after the last key is written as -inf.
//   Traffic  l2_to_sm = B Hq (ceil(Nk/Bc) Nq + ceil(Nq/Br) Nk) d e     sm_to_l2 = B Hq Nq pitch e, when nothing is masked;
//            e = 2 bytes an element.
#pragma once

#include "kernels/common/by_shape.cuh"
#include "kernels/common/probe.cuh"
#include "kernels/common/warp_tiles.cuh"
#include "kernels/matmul_tiled/scores_arguments.h"

namespace tilescope::device {

template <class Element, int dim>
struct ScoresShape {
  using T = Element;
  static constexpr int br = 128, bc = 128, threads = 256, row_bytes = dim * 2;
  static constexpr int shared_bytes = (br + bc) * row_bytes;
  static constexpr bool masks = true;
};

/// Writes the existing [rows, cols] part of S from a swizzled shared tile of 128 columns. `cols` is a multiple of 8.
template <class T, int threads, int tile_rows>
__device__ __forceinline__ void store_scores(T* to, std::int64_t pitch, const char* shared, int rows, int cols, int thread) {
  constexpr int row_chunks = 16, rows_a_step = threads / row_chunks;
  static_assert(rows_a_step % 8 == 0);  // so that all chunks of a thread have the same swizzle
  const int row = thread / row_chunks, chunk = thread % row_chunks;
  if (chunk * 8 >= cols) return;
  T* at = to + row * pitch + chunk * 8;
  const char* const own = shared + swizzled<256>(row, chunk);
#pragma unroll
  for (int i = 0; i < tile_rows; i += rows_a_step) {
    if (row + i < rows) *reinterpret_cast<uint4*>(at) = *reinterpret_cast<const uint4*>(own + i * 256);
    at += rows_a_step * pitch;
  }
}

template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads,
                             2) void scores_kernel(const typename Recorder::template Launch<ScoresArguments> arguments) {
  using T = typename Shape::T;
  constexpr int row_bytes = Shape::row_bytes, warps = Shape::threads / 32, copied_rows = Shape::br / warps;
  extern __shared__ __align__(128) char shared[];
  char* const k_tile = shared + Shape::br * row_bytes;

  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const Recorder probe(arguments, 0, warp, lane);
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const int first_row = blockIdx.y * Shape::br, first_key = blockIdx.x * Shape::bc;
  const int rows = min(Shape::br, seq_q - first_row), keys = min(Shape::bc, seq_kv - first_key);
  // Under a causal mask, blocks entirely above the diagonal have nothing to do.
  const int visible_last = first_row + rows + seq_kv - seq_q;
  if (arguments.causal && visible_last <= first_key) return probe.end();
  probe.tick(0, 0);

  const std::int64_t plane = blockIdx.z, head = plane % arguments.heads;
  const std::int64_t kv_plane = plane / arguments.heads * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads);
  const char* const q = static_cast<const char*>(arguments.q) + (plane * seq_q + first_row) * row_bytes;
  const char* const k = static_cast<const char*>(arguments.k) + (kv_plane * seq_kv + first_key) * row_bytes;
  const int copied = warp * copied_rows;
  copy_rows<row_bytes, copied_rows, false>(shared_address(shared) + copied * row_bytes, q + copied * row_bytes, rows - copied,
                                           lane);
  copy_rows<row_bytes, copied_rows, false>(shared_address(k_tile) + copied * row_bytes, k + copied * row_bytes, keys - copied,
                                           lane);
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
  probe.tick(0, 1);

  const int warp_row = warp / 2 * 32, warp_key = warp % 2 * 64;
  float s[2][8][4];
  multiply_transposed<T, row_bytes>(s, LanePlaces<row_bytes>(lane), shared_address(shared) + warp_row * row_bytes,
                                    shared_address(k_tile) + warp_key * row_bytes);
  // The padding is masked too, which is harmless: no row sees it.
  const int visible =
      arguments.causal ? first_row + 1 + seq_kv - seq_q - first_key : keys;  // keys of the tile that its first row sees
  if (Shape::masks && visible < Shape::bc) {
    if (arguments.causal)
      mask_scores<true>(s, visible + warp_row - warp_key, lane);
    else
      mask_scores<false>(s, visible - warp_key, lane);
  }
  probe.tick(0, 2);
  __syncthreads();  // Q and K have been read; S overwrites them

#pragma unroll
  for (int mt = 0; mt < 2; ++mt)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const int row = warp_row + mt * 16 + half * 8 + lane / 4;
        *reinterpret_cast<std::uint32_t*>(shared + swizzled<256>(row, warp_key / 8 + n) + (lane & 3) * 4) =
            pack<T>(s[mt][n][half * 2] * arguments.scale, s[mt][n][half * 2 + 1] * arguments.scale);
      }
  __syncthreads();
  const std::int64_t pitch = arguments.pitch;
  T* const to = static_cast<T*>(arguments.s) + (plane * seq_q + first_row) * pitch + first_key;
  store_scores<T, Shape::threads, Shape::br>(to, pitch, shared, rows, min(Shape::bc, arguments.pitch - first_key), thread);
  probe.tick(0, 3);
  probe.end();
}

/// Plans the product for a shape: ScoresShape, or one derived from it.
template <template <class, int> class ShapeOf, class Recorder>
PlannedLaunch plan_scores_of(std::string_view name, const AttentionProblem& problem, const ScoresArguments& arguments,
                             const typename Recorder::Arguments& probe) {
  return by_shape(problem, [&]<class T, int d>() {
    using Shape = ShapeOf<T, d>;
    const std::int64_t key_tiles = (problem.seq_kv + Shape::bc - 1) / Shape::bc,
                       query_tiles = (problem.seq_q + Shape::br - 1) / Shape::br;
    return planned(name, reinterpret_cast<const void*>(&scores_kernel<Shape, Recorder>),
                   {key_tiles, query_tiles, problem.query_planes()}, Shape::threads, Shape::shared_bytes,
                   Recorder::launch(arguments, probe));
  });
}

template <class Recorder>
PlannedLaunch plan_scores(std::string_view name, const AttentionProblem& problem, const DeviceTensors& tensors,
                          const typename Recorder::Arguments& probe) {
  return plan_scores_of<ScoresShape, Recorder>(name, problem, scores_arguments(problem, tensors), probe);
}

}  // namespace tilescope::device
