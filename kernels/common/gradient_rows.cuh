// Device code of the two launches around the gradients, a block a query tile: D = rowsum(dO * O) with the zeros of dQ_acc before
// them, dQ = scale * dQ_acc after them.
//
//   A row of dQ_acc keeps its columns in groups of 16, in the order in which a lane of mma.m16n8k16 holds them, so that one vector
//   addition of 16 bytes moves what a lane has in two neighbouring accumulators:
//
//        place in the group    0 1 2 3   4 5  6  7   8 9 10 11  12 13 14 15
//        column                0 1 8 9   2 3 10 11   4 5 12 13   6  7 14 15
#pragma once

#include "kernels/common/gradient_arguments.h"
#include "kernels/common/gradient_tiles.cuh"
#include "kernels/common/no_probe.cuh"

namespace tilescope::device {

inline constexpr int row_threads = 128;

/// Computes D of a query tile and zeroes its rows of every copy of dQ_acc. Grid: query tiles, heads, batch.
template <class T, int d, int br, int zeroed>
__device__ __forceinline__ void row_dots(const GradientArguments& arguments) {
  constexpr int row_chunks = d / 8, rows_a_step = row_threads / row_chunks;
  __shared__ float dots[br];
  const int thread = threadIdx.x, first_row = blockIdx.x * br, rows = min(br, arguments.seq_q - first_row);
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.z) * arguments.heads + blockIdx.y) * arguments.seq_q + first_row;
  const uint4* const o = static_cast<const uint4*>(arguments.o) + row * row_chunks;
  const uint4* const d_o = static_cast<const uint4*>(arguments.d_o) + row * row_chunks;
#pragma unroll
  for (int step = 0; step < br / rows_a_step; ++step) {
    const int own = step * rows_a_step + thread / row_chunks;
    float dot = 0.f;
    if (own < rows) {
      const uint4 x = __ldcg(o + step * row_threads + thread), y = __ldcg(d_o + step * row_threads + thread);
      const T* const a = reinterpret_cast<const T*>(&x);
      const T* const b = reinterpret_cast<const T*>(&y);
#pragma unroll
      for (int i = 0; i < 8; ++i) dot += to_float(a[i]) * to_float(b[i]);
    }
#pragma unroll
    for (int other = row_chunks / 2; other > 0; other /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, other);
    if (thread % row_chunks == 0) dots[own] = dot;
  }
  if constexpr (zeroed != 0) {
    const std::int64_t all = static_cast<std::int64_t>(gridDim.z) * arguments.heads * arguments.seq_q;
    for (int copy = 0; copy < arguments.copies; ++copy) {
      uint4* const sums = reinterpret_cast<uint4*>(arguments.dq_acc) + (copy * all + row) * (d / 4);
      for (int i = thread; i < rows * (d / 4); i += row_threads) sums[i] = make_uint4(0, 0, 0, 0);
    }
  }
  __syncthreads();
  float* const delta = arguments.delta + row;
  for_block_by_sector<row_threads>(delta, rows, thread, [&](int i) { delta[i] = dots[i]; });
}

template <class T, int d, int br, int zeroed, class Recorder = NoProbe>
__global__ __launch_bounds__(row_threads) void row_dot_kernel(
    const typename Recorder::template Launch<GradientArguments> arguments) {
  const Recorder probe(arguments, 0, threadIdx.x / 32, threadIdx.x % 32);
  probe.tick(0, 0);
  row_dots<T, d, br, zeroed>(arguments);
  probe.tick(0, 1);
  probe.end();
}

/// Sums the copies of dQ_acc in order, scales and rounds them to dQ. Grid: query tiles, heads, batch.
template <class T, int d, int br, class Recorder = NoProbe>
__global__ __launch_bounds__(row_threads) void convert_kernel(
    const typename Recorder::template Launch<GradientArguments> arguments) {
  const Recorder probe(arguments, 0, threadIdx.x / 32, threadIdx.x % 32);
  probe.tick(0, 0);
  const int thread = threadIdx.x, first_row = blockIdx.x * br, rows = min(br, arguments.seq_q - first_row);
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.z) * arguments.heads + blockIdx.y) * arguments.seq_q + first_row;
  const std::int64_t all = static_cast<std::int64_t>(gridDim.z) * arguments.heads * arguments.seq_q;
  const float4* const sums = reinterpret_cast<const float4*>(arguments.dq_acc) + row * (d / 4);
  uint2* const dq = static_cast<uint2*>(arguments.dq) + row * (d / 4);
  const int quad_lane = thread & 3, from = (thread & 0x1c) + 2 * (quad_lane & 1);
#pragma unroll 4
  for (int step = 0; step < br * (d / 4) / row_threads; ++step) {
    const int i = step * row_threads + thread;
    float4 x = make_float4(0.f, 0.f, 0.f, 0.f);
    if (i < rows * (d / 4)) {
      x = __ldcg(sums + i);
      for (int copy = 1; copy < arguments.copies; ++copy) {
        const float4 y = __ldcg(sums + copy * all * (d / 4) + i);
        x.x += y.x, x.y += y.y, x.z += y.z, x.w += y.w;
      }
    }
    // Lane t of four holds columns 2t, 2t + 1 and 8 + 2t, 9 + 2t; it stores columns 4t … 4t + 3.
    const std::uint32_t low = pack<T>(x.x * arguments.scale, x.y * arguments.scale);
    const std::uint32_t high = pack<T>(x.z * arguments.scale, x.w * arguments.scale);
    const std::uint32_t low_0 = __shfl_sync(0xffffffffu, low, from), low_1 = __shfl_sync(0xffffffffu, low, from + 1);
    const std::uint32_t high_0 = __shfl_sync(0xffffffffu, high, from), high_1 = __shfl_sync(0xffffffffu, high, from + 1);
    if (i < rows * (d / 4)) dq[i] = quad_lane < 2 ? make_uint2(low_0, low_1) : make_uint2(high_0, high_1);
  }
  probe.tick(0, 1);
  probe.end();
}

}  // namespace tilescope::device
