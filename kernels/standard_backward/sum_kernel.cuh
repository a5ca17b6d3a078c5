// Device code of the sums of products in the backward pass of standard attention: dV = P^T dO, dQ = scale dS K, dK = scale dS^T Q.
//
//   8 warps of 16 rows of the result. Tiles of the weights (P or dS) and of the values pass through a ring of two buffers.
//   queries_sum_kernel  one block a query tile, over its key tiles          dQ
//   keys_sum_kernel     one block a key tile, over the query tiles of every query head that reads the key head       dV, dK
//   Rows of the weights are `pitch` elements apart, see row_pitch() in sim/core/tensor.h. Their padding is 0.
//   Traffic  l2_to_sm = B Hq Nq pitch e + B Hq ceil(Nq/Br) Nk d e [dQ], B Hq ceil(Nk/Bc) Nq d e [dV, dK]
//            sm_to_l2 = B Hq Nq d e [dQ], B Hkv Nk d e [dV, dK], when nothing is masked; e = 2 bytes an element.
#pragma once

#include "kernels/common/by_shape.cuh"
#include "kernels/common/warp_tiles.cuh"

namespace tilescope::device {

struct SumArguments {
  const void* weights;
  const void* values;
  void* sum;
  int seq_q, seq_kv, pitch;
  int heads, kv_heads;
  float scale;
  bool causal;
};

template <class Element, int dim>
struct SumShape {
  using T = Element;
  static constexpr int side = 128, threads = 256, d = dim, stages = 2;  // Br = Bc = side
  static constexpr int weight_row_bytes = side * 2, row_bytes = d * 2;
  static constexpr int weight_bytes = side * weight_row_bytes, value_bytes = side * row_bytes;
  static constexpr int shared_bytes = stages * (weight_bytes + value_bytes);
};

/// One tile of weights and the tile of values that it multiplies.
struct SumStep {
  std::int64_t weight_row;  // first row of the weights, over all planes
  int weight_col;
  std::int64_t value_row;  // first row of the values, over all planes
  int rows, cols;          // of the weights that exist
  int values;              // rows of the values that exist
};

/// Starts the copy of 16 rows of a tile of weights. Only `rows` rows and `cols` columns exist; a chunk that straddles the last
/// column also reads padding, which is 0.
template <class T>
__device__ __forceinline__ void copy_weight_rows(std::uint32_t shared, const T* from, std::int64_t pitch, int rows, int cols,
                                                 int lane) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = i * 2 + lane / 16, chunk = lane % 16;
    const bool present = row < rows && chunk * 8 < cols;
    copy_async(shared + swizzled<256>(row, chunk), present ? from + row * pitch + chunk * 8 : from, present);
  }
}

/// Sums `steps` products into 128 rows of the result and writes the first `rows` of them from row `first` on. `by_keys` multiplies
/// with the transposed weights.
template <class Shape, bool by_keys, class StepOf>
__device__ __forceinline__ void sum_products(const SumArguments& arguments, int steps, StepOf step_of, std::int64_t first,
                                             int rows) {
  using T = typename Shape::T;
  constexpr int tiles = Shape::d / 8, w_row = Shape::weight_row_bytes, v_row = Shape::row_bytes;
  extern __shared__ __align__(128) char shared[];
  const std::uint32_t weight_ring = shared_address(shared);
  const std::uint32_t value_ring = weight_ring + Shape::stages * Shape::weight_bytes;
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const std::int64_t pitch = arguments.pitch;
  const T* const weights = static_cast<const T*>(arguments.weights);
  const char* const values = static_cast<const char*>(arguments.values);

  auto copy = [&](int n) {
    if (n < steps) {
      const SumStep step = step_of(n);
      const int stage = n % Shape::stages, own = warp * 16;
      copy_weight_rows(weight_ring + stage * Shape::weight_bytes + own * w_row,
                       weights + (step.weight_row + own) * pitch + step.weight_col, pitch, step.rows - own, step.cols, lane);
      copy_rows<v_row, 16, false>(value_ring + stage * Shape::value_bytes + own * v_row, values + (step.value_row + own) * v_row,
                                  step.values - own, lane);
    }
    copy_async_commit();
  };

  float sum[tiles][4];
#pragma unroll
  for (int n = 0; n < tiles; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[n][i] = 0.f;
  const LanePlaces<w_row> w_places(lane);
  const LanePlaces<v_row> v_places(lane);

  copy(0);
  for (int n = 0; n < steps; ++n) {
    copy_async_wait<0>();
    __syncthreads();  // step n has landed, and all warps are done with step n - 1
    copy(n + 1);
    const std::uint32_t weight_tile = weight_ring + n % Shape::stages * Shape::weight_bytes;
    const std::uint32_t value_tile = value_ring + n % Shape::stages * Shape::value_bytes;
#pragma unroll
    for (int slice = 0; slice < Shape::side / 16; ++slice) {
      std::uint32_t a[4];
      if constexpr (by_keys)  // the warp's 16 keys are a pair of chunks, and the slice is 16 queries
        load_matrices_transposed(a, w_places.stepped(w_places.chunks_first, warp, weight_tile + slice * 16 * w_row));
      else
        load_matrices(a, w_places.stepped(w_places.rows_first, slice, weight_tile + warp * 16 * w_row));
#pragma unroll
      for (int g = 0; g < tiles / 2; ++g) {
        std::uint32_t b[4];
        load_matrices_transposed(b, v_places.stepped(v_places.rows_first, g, value_tile + slice * 16 * v_row));
        mma<T>(sum[2 * g], a, b[0], b[1], sum[2 * g]);
        mma<T>(sum[2 * g + 1], a, b[2], b[3], sum[2 * g + 1]);
      }
    }
  }
  copy_async_wait<0>();
  __syncthreads();

  char* const own_rows = shared + warp * 16 * v_row;
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int n = 0; n < tiles; ++n)
      *reinterpret_cast<std::uint32_t*>(own_rows + swizzled<v_row>(half * 8 + lane / 4, n) + (lane & 3) * 4) =
          pack<T>(sum[n][half * 2] * arguments.scale, sum[n][half * 2 + 1] * arguments.scale);
  __syncwarp();
  store_rows<v_row, 16>(static_cast<char*>(arguments.sum) + (first + warp * 16) * v_row, own_rows, rows - warp * 16, lane);
}

template <class Shape>
__global__ __launch_bounds__(Shape::threads) void queries_sum_kernel(const SumArguments arguments) {
  constexpr int side = Shape::side;
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const int first_row = blockIdx.x * side, rows = min(side, seq_q - first_row);
  const std::int64_t plane = blockIdx.y, head = plane % arguments.heads;
  const std::int64_t kv_plane = plane / arguments.heads * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads);
  const int keys = arguments.causal ? max(0, min(first_row + rows + seq_kv - seq_q, seq_kv)) : seq_kv;
  const std::int64_t first = plane * seq_q + first_row;
  const auto step_of = [&](int n) {
    const int left = min(side, seq_kv - n * side);
    return SumStep{first, n * side, kv_plane * seq_kv + n * side, rows, left, left};
  };
  sum_products<Shape, false>(arguments, (keys + side - 1) / side, step_of, first, rows);
}

template <class Shape>
__global__ __launch_bounds__(Shape::threads) void keys_sum_kernel(const SumArguments arguments) {
  constexpr int side = Shape::side;
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const int first_key = blockIdx.x * side, keys = min(side, seq_kv - first_key);
  const int group = arguments.heads / arguments.kv_heads;
  const std::int64_t kv_plane = blockIdx.y;
  const std::int64_t first_plane = kv_plane / arguments.kv_heads * arguments.heads + kv_plane % arguments.kv_heads * group;
  const int query_tiles = (seq_q + side - 1) / side;
  // First query tile with a row that sees key `first_key`.
  const int first_tile = arguments.causal ? min(query_tiles, max(0, first_key - (seq_kv - seq_q)) / side) : 0;
  const int visited = query_tiles - first_tile;
  const auto step_of = [&](int n) {
    const int row = (first_tile + n % visited) * side, left = min(side, seq_q - row);
    const std::int64_t from = (first_plane + n / visited) * seq_q + row;
    return SumStep{from, first_key, from, left, keys, left};
  };
  sum_products<Shape, true>(arguments, group * visited, step_of, kv_plane * seq_kv + first_key, keys);
}

}  // namespace tilescope::device
