// Device code of flash3_backward's third launch: dQ = scale * dQ_acc, where dQ_acc lies in the order of wgmma's accumulators.
//
//   dQ_acc is cut into strips of 16 rows. A whole strip holds, for each 8 columns, what the 32 lanes of a warp have in four
//   registers:
//
//        strip [d / 8 column groups][32 lanes][4]     lane l: row l / 4, columns 2 (l % 4) and + 1; then the same of row l / 4 + 8
//
//   So a warp adds 512 contiguous bytes at a time, straight from its registers. The last seq_q % 16 rows of a head lie row by row.
#pragma once

#include "kernels/common/gradient_rows.cuh"

namespace tilescope::device {

/// Swaps x and y between lanes that differ in `bit`, so that 4 numbers of 4 lanes transpose in two steps.
__device__ __forceinline__ void swap_across(std::uint32_t& x, std::uint32_t& y, int bit, int lane) {
  const std::uint32_t got = __shfl_xor_sync(0xffffffffu, lane & bit ? x : y, bit);
  (lane & bit ? x : y) = got;
}

/// Scales and rounds the sums to dQ, a warp a strip. Grid: query tiles, heads, batch.
template <class T, int d, int br>
__global__ __launch_bounds__(row_threads) void convert_strips_kernel(const GradientArguments arguments) {
  const int lane = threadIdx.x & 31, first_row = blockIdx.x * br, warps = row_threads / 32;
  const std::int64_t plane_row = (static_cast<std::int64_t>(blockIdx.z) * arguments.heads + blockIdx.y) * arguments.seq_q;
#pragma unroll
  for (int strip = threadIdx.x / 32; strip < br / 16; strip += warps) {
    const int row = first_row + strip * 16, rows = arguments.seq_q - row;
    const float* const sums = arguments.dq_acc + (plane_row + row) * d;
    T* const dq = static_cast<T*>(arguments.dq) + (plane_row + row) * d;
    if (rows >= 16) {
#pragma unroll
      for (int columns = 0; columns < d / 32; ++columns) {
        std::uint32_t upper[4], lower[4];  // rows lane / 4 and lane / 4 + 8
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          const float4 x = __ldcg(reinterpret_cast<const float4*>(sums) + (columns * 4 + t) * 32 + lane);
          upper[t] = pack<T>(x.x * arguments.scale, x.y * arguments.scale);
          lower[t] = pack<T>(x.z * arguments.scale, x.w * arguments.scale);
        }
#pragma unroll
        for (int bit = 1; bit <= 2; bit *= 2)
#pragma unroll
          for (int t = 0; t < 4; ++t)
            if ((t & bit) == 0) swap_across(upper[t], upper[t + bit], bit, lane), swap_across(lower[t], lower[t + bit], bit, lane);
        T* const to = dq + lane / 4 * d + columns * 32 + (lane & 3) * 8;
        *reinterpret_cast<uint4*>(to) = make_uint4(upper[0], upper[1], upper[2], upper[3]);
        *reinterpret_cast<uint4*>(to + 8 * d) = make_uint4(lower[0], lower[1], lower[2], lower[3]);
      }
    } else {
      for (int i = lane; i < rows * (d / 2); i += 32) {
        const float2 x = __ldcg(reinterpret_cast<const float2*>(sums) + i);
        reinterpret_cast<std::uint32_t*>(dq)[i] = pack<T>(x.x * arguments.scale, x.y * arguments.scale);
      }
    }
  }
}

}  // namespace tilescope::device
