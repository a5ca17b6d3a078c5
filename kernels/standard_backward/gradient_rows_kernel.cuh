// Device code of dS = P * (dP - D) with D = rowsum(P * dP), up to 4 rows a block of 4 warps: the third launch of standard_backward.
//
//   If shared memory holds a row of P and of dP, each is read once. Longer rows are read twice.
//   Rows of P, dP and dS are `pitch` elements apart, see row_pitch() in sim/core/tensor.h. Their padding is 0.
//   Traffic  l2_to_sm = B Hq 2 Nq pitch e (twice that when a row does not fit)     sm_to_l2 = B Hq Nq pitch e
//            when nothing is masked; e = 2 bytes an element.
#pragma once

#include "kernels/standard/rows_kernel.cuh"
#include "kernels/standard_backward/gradient_rows.h"

namespace tilescope::device {

struct GradientRowsArguments {
  const void* p;
  const void* dp;
  void* ds;
  int seq_q, seq_kv, pitch;
  int tile_rows, tile_keys;  // tile of the products, which decides what a row visits
  int group_rows;            // rows of one block
  bool kept;                 // rows are kept in shared memory
  bool causal;
};

/// Returns the row's sum on every lane of the warps [first_warp, first_warp + warps) that share the row.
__device__ __forceinline__ float row_sum(float mine, float* scratch, int warp, int first_warp, int warps) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, step);
  if (threadIdx.x % 32 == 0) scratch[warp] = mine;
  __syncthreads();
  float sum = 0.f;
  for (int w = first_warp; w < first_warp + warps; ++w) sum += scratch[w];
  return sum;
}

template <class T>
__global__ __launch_bounds__(128) void gradient_rows_kernel(const GradientRowsArguments arguments) {
  extern __shared__ __align__(128) char shared[];
  __shared__ float scratch[4];
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv, group_rows = arguments.group_rows;
  const int groups_of_tile = (arguments.tile_rows + group_rows - 1) / group_rows;
  const int tile = blockIdx.x / groups_of_tile, tile_first = tile * arguments.tile_rows;
  const int tile_end = min(tile_first + arguments.tile_rows, seq_q);
  const int first_row = tile_first + blockIdx.x % groups_of_tile * group_rows;
  const int rows = min(group_rows, tile_end - first_row);

  const int row_warps = 4 / group_rows, warp = threadIdx.x / 32, slot = warp / row_warps;
  const bool works = slot < rows;
  const int row = first_row + (works ? slot : 0), threads = row_warps * 32, thread = threadIdx.x - slot * threads;
  const int tile_keys = arguments.tile_keys, pitch = arguments.pitch;
  const int visible = arguments.causal ? max(0, min(tile_end + seq_kv - seq_q, seq_kv)) : seq_kv;
  const int visited = (visible + tile_keys - 1) / tile_keys * tile_keys;
  const int seen = min(seq_kv, visited), width = min(pitch, visited);
  const std::int64_t start = (static_cast<std::int64_t>(blockIdx.y) * seq_q + row) * pitch;
  const T* const p = static_cast<const T*>(arguments.p) + start;
  const T* const dp = static_cast<const T*>(arguments.dp) + start;
  T* const ds = static_cast<T*>(arguments.ds) + start;
  T* const kept_p = arguments.kept ? reinterpret_cast<T*>(shared) + static_cast<std::int64_t>(2 * slot) * pitch : nullptr;
  T* const kept_dp = kept_p + pitch;

  float mine = 0.f;
  if (works)
    for_each_piece(seen, thread, threads, [&](int c) {
      Piece<T> weights, gradients;
      weights.fetch(p + c), gradients.fetch(dp + c);
      if (arguments.kept) weights.write(kept_p + c), gradients.write(kept_dp + c);
#pragma unroll
      for (int i = 0; i < weights.size; ++i) mine += to_float(weights.value[i]) * to_float(gradients.value[i]);
    });
  const float d = row_sum(mine, scratch, warp, slot * row_warps, works ? row_warps : 0);
  if (!works) return;
  for_each_piece(width, thread, threads, [&](int c) {
    Piece<T> weights, gradients;
    if (c < seen) {
      if (arguments.kept)
        weights.read(kept_p + c), gradients.read(kept_dp + c);
      else
        weights.fetch(p + c), gradients.fetch(dp + c);
    }
#pragma unroll
    for (int i = 0; i < weights.size; ++i)
      gradients.value[i] = from_float<T>(c + i < seen ? to_float(weights.value[i]) * (to_float(gradients.value[i]) - d) : 0.f);
    gradients.write(ds + c);
  });
}

}  // namespace tilescope::device
