// Device code of flash1_backward: one block a key head. Keys are the outer loop, so each inner step loads and stores dQ of a query
// tile.
//
//   8 warps. Products with d columns split them in two halves, and the 64 rows among four warps; S and dP split their 64 keys in
//   two.
//
//        S, dP  [64 queries, 64 keys]   warp: 16 queries x 32 keys      in registers, then P and dS to shared memory
//        dV, dK [64 keys, d]            warp: 16 keys x d/2             in registers, for the whole inner loop
//        dQ     [64 queries, d]         warp: 16 queries x d/2          added to the tile in shared memory
//
//   Shared memory: Q, dO, dQ [Br,d], K, V [Bc,d], P, dS [Br,Bc] in the problem's type; l, m and D in fp32.
#pragma once

#include "kernels/common/by_shape.cuh"
#include "kernels/common/no_probe.cuh"
#include "kernels/common/warp_tiles.cuh"
#include "kernels/planned_launch.h"

namespace tilescope::device {

struct Flash1BackwardArguments {
  const void* q;
  const void* k;
  const void* v;
  const void* o;
  const void* d_o;
  const float* l;
  const float* m;
  void* dq;
  void* dk;
  void* dv;
  int seq_q, seq_kv;
  int heads, kv_heads;
  float scale;
  bool causal;
};

template <class Element, int dim>
struct Flash1BackwardShape {
  using T = Element;
  static constexpr int br = 64, bc = 64, threads = 256, d = dim, row_bytes = dim * 2, pair_row_bytes = bc * 2;
  static constexpr int q_bytes = br * row_bytes, kv_bytes = bc * row_bytes, pair_bytes = br * pair_row_bytes;
  static constexpr int shared_bytes = 3 * q_bytes + 2 * kv_bytes + 2 * pair_bytes + 3 * br * 4;
};

/// The tiles of a block in shared memory.
template <class Shape>
struct Flash1BackwardTiles {
  char *q, *d_o, *d_q, *k, *v, *p, *d_s;
  float *l, *m, *d;

  __device__ __forceinline__ explicit Flash1BackwardTiles(char* shared) {
    q = shared, d_o = q + Shape::q_bytes, d_q = d_o + Shape::q_bytes;
    k = d_q + Shape::q_bytes, v = k + Shape::kv_bytes;
    p = v + Shape::kv_bytes, d_s = p + Shape::pair_bytes;
    l = reinterpret_cast<float*>(d_s + Shape::pair_bytes), m = l + Shape::br, d = m + Shape::br;
  }
};

/// Loads 8 rows into a swizzled shared tile, past the L1: each inner step reads from the L2 what an earlier one stored.
template <int row_bytes>
__device__ __forceinline__ void fetch_eight_rows(char* shared, const char* global, int rows, int lane) {
  constexpr int row_chunks = row_bytes / 16, rows_a_step = 32 / row_chunks;
#pragma unroll
  for (int i = 0; i < 8 / rows_a_step; ++i) {
    const int row = i * rows_a_step + lane / row_chunks, chunk = lane % row_chunks;
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (row < rows) bytes = __ldcg(reinterpret_cast<const uint4*>(global + row * row_bytes + chunk * 16));
    *reinterpret_cast<uint4*>(shared + swizzled<row_bytes>(row, chunk)) = bytes;
  }
}

/// Returns the dot product of 8 neighbouring elements.
template <class T>
__device__ __forceinline__ float dot(const uint4& a, const uint4& b) {
  const T* const x = reinterpret_cast<const T*>(&a);
  const T* const y = reinterpret_cast<const T*>(&b);
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += to_float(x[i]) * to_float(y[i]);
  return sum;
}

/// Adds A B to `sum` for 16 rows of A and half of B's columns. A is a tile of P or dS, transposed if `transposed`; B has 64 rows.
template <class Shape, bool transposed, int tiles>
__device__ __forceinline__ void add_product(float (&sum)[tiles][4], const LanePlaces<Shape::pair_row_bytes>& a_places,
                                            const LanePlaces<Shape::row_bytes>& b_places, std::uint32_t a_tile,
                                            std::uint32_t b_tile, int row_group, int half) {
  using T = typename Shape::T;
#pragma unroll
  for (int slice = 0; slice < 4; ++slice) {
    std::uint32_t a[4];
    if constexpr (transposed)
      load_matrices_transposed(a, a_places.stepped(a_places.chunks_first, row_group, a_tile + slice * 16 * Shape::pair_row_bytes));
    else
      load_matrices(a, a_places.stepped(a_places.rows_first, slice, a_tile + row_group * 16 * Shape::pair_row_bytes));
#pragma unroll
    for (int g = 0; g < tiles / 2; ++g) {
      std::uint32_t b[4];
      load_matrices_transposed(
          b, b_places.stepped(b_places.rows_first, half * (tiles / 2) + g, b_tile + slice * 16 * Shape::row_bytes));
      mma<T>(sum[2 * g], a, b[0], b[1], sum[2 * g]);
      mma<T>(sum[2 * g + 1], a, b[2], b[3], sum[2 * g + 1]);
    }
  }
}

/// Computes P and dS of a warp's 16 queries and 32 keys, and writes them to shared memory. `visible` counts the warp's keys that
/// its first row sees.
template <class Shape, class Recorder>
__device__ __forceinline__ void weights_and_gradients(const Flash1BackwardArguments& arguments,
                                                      const Flash1BackwardTiles<Shape>& tile, int warp_row, int warp_key,
                                                      int visible, int lane, const Recorder& recorder) {
  using T = typename Shape::T;
  constexpr int row_bytes = Shape::row_bytes, s_tiles = 4, warp_keys = s_tiles * 8;
  const LanePlaces<row_bytes> places(lane);
  float s[1][s_tiles][4], d_p[1][s_tiles][4];
  multiply_transposed<T, row_bytes>(s, places, shared_address(tile.q) + warp_row * row_bytes,
                                    shared_address(tile.k) + warp_key * row_bytes);
  multiply_transposed<T, row_bytes>(d_p, places, shared_address(tile.d_o) + warp_row * row_bytes,
                                    shared_address(tile.v) + warp_key * row_bytes);
  if (visible < warp_keys) {
    if (arguments.causal)
      mask_scores<true>(s, visible, lane);
    else
      mask_scores<false>(s, visible, lane);
  }
  const float scale_log2 = arguments.scale * log2_e;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp_row + half * 8 + lane / 4;
    const float l = tile.l[row], m = tile.m[row], d = tile.d[row];
    const float base = m == minus_infinity() ? 0.f : m * log2_e, inverse = l == 0.f ? 0.f : 1.f / l;
#pragma unroll
    for (int n = 0; n < s_tiles; ++n) {
      const float x = exp2_fast(s[0][n][half * 2] * scale_log2 - base) * inverse,
                  y = exp2_fast(s[0][n][half * 2 + 1] * scale_log2 - base) * inverse;
      const std::uint32_t place = swizzled<Shape::pair_row_bytes>(row, warp_key / 8 + n) + (lane & 3) * 4;
      *reinterpret_cast<std::uint32_t*>(tile.p + place) = pack<T>(x, y);
      *reinterpret_cast<std::uint32_t*>(tile.d_s + place) =
          pack<T>(x * (d_p[0][n][half * 2] - d), y * (d_p[0][n][half * 2 + 1] - d));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int key = warp_key + n * 8 + 2 * (lane & 3) + i;
        const float p = i == 0 ? x : y, d_p_minus_d = d_p[0][n][half * 2 + i] - d;
        recorder.record(PairNumber::score, s[0][n][half * 2 + i], key, row);
        recorder.record(PairNumber::probability, p, key, row);
        recorder.record(PairNumber::d_p_minus_d, d_p_minus_d, key, row);
        recorder.record(PairNumber::d_s, p * d_p_minus_d, key, row);
        recorder.record(PairNumber::minus_d, -d, key, row);
      }
    }
  }
}

/// Writes a warp's part of dK or dV, times `factor`, to a shared tile.
template <class Shape, int tiles>
__device__ __forceinline__ void write_gradient(char* shared, const float (&sum)[tiles][4], float factor, int row_group, int half,
                                               int lane) {
#pragma unroll
  for (int part = 0; part < 2; ++part)
#pragma unroll
    for (int n = 0; n < tiles; ++n)
      *reinterpret_cast<std::uint32_t*>(
          shared + swizzled<Shape::row_bytes>(row_group * 16 + part * 8 + lane / 4, half * tiles + n) + (lane & 3) * 4) =
          pack<typename Shape::T>(sum[n][part * 2] * factor, sum[n][part * 2 + 1] * factor);
}

template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads) void flash1_backward_kernel(
    const typename Recorder::template Launch<Flash1BackwardArguments> arguments) {
  using T = typename Shape::T;
  constexpr int row_bytes = Shape::row_bytes, threads = Shape::threads, br = Shape::br, bc = Shape::bc, tiles = Shape::d / 16;
  extern __shared__ __align__(128) char shared[];
  const Flash1BackwardTiles<Shape> tile(shared);

  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, row_group = warp & 3, half = warp >> 2;
  const Recorder probe(arguments, 0, warp, lane);
  probe.mark(0);
  const int own = warp * 8;  // the warp copies rows [own, own + 8) of a tile
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv, group = arguments.heads / arguments.kv_heads;
  const std::int64_t kv_plane = blockIdx.x;
  const std::int64_t first_plane = kv_plane / arguments.kv_heads * arguments.heads + kv_plane % arguments.kv_heads * group;
  const char* const k = static_cast<const char*>(arguments.k) + kv_plane * seq_kv * row_bytes;
  const char* const v = static_cast<const char*>(arguments.v) + kv_plane * seq_kv * row_bytes;
  char* const dk = static_cast<char*>(arguments.dk) + kv_plane * seq_kv * row_bytes;
  char* const dv = static_cast<char*>(arguments.dv) + kv_plane * seq_kv * row_bytes;
  const int query_tiles = (seq_q + br - 1) / br, key_tiles = (seq_kv + bc - 1) / bc;
  const LanePlaces<Shape::pair_row_bytes> pair_places(lane);
  const LanePlaces<row_bytes> places(lane);

  const uint4 zeros = make_uint4(0, 0, 0, 0);
  uint4* const first_dq = reinterpret_cast<uint4*>(static_cast<char*>(arguments.dq) + first_plane * seq_q * row_bytes);
  for (std::int64_t i = thread; i < static_cast<std::int64_t>(group) * seq_q * (row_bytes / 16); i += threads) first_dq[i] = zeros;
  for (std::int64_t i = thread; i < static_cast<std::int64_t>(seq_kv) * (row_bytes / 16); i += threads)
    reinterpret_cast<uint4*>(dk)[i] = zeros, reinterpret_cast<uint4*>(dv)[i] = zeros;
  __syncthreads();
  probe.mark(1);

  for (int j = 0; j < key_tiles; ++j) {
    const int first_key = j * bc, keys = min(bc, seq_kv - first_key);
    // First query tile with a row that sees key `first_key`.
    const int first_tile = arguments.causal ? max(0, first_key - (seq_kv - seq_q)) / br : 0;
    if (first_tile >= query_tiles) break;
    const std::int64_t from = static_cast<std::int64_t>(first_key + own) * row_bytes;
    copy_rows<row_bytes, 8, false>(shared_address(tile.k) + own * row_bytes, k + from, keys - own, lane);
    copy_rows<row_bytes, 8, false>(shared_address(tile.v) + own * row_bytes, v + from, keys - own, lane);
    float dk_sum[tiles][4], dv_sum[tiles][4];
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) dk_sum[n][i] = dv_sum[n][i] = 0.f;

    for (int head = 0; head < group; ++head) {
      const std::int64_t plane_rows = (first_plane + head) * seq_q;
      const float* const l = arguments.l + plane_rows;
      const float* const m = arguments.m + plane_rows;
      for (int i = first_tile; i < query_tiles; ++i) {
        const int first_row = i * br, rows = min(br, seq_q - first_row), step = (j * group + head) * query_tiles + i;
        probe.tick(step, 0);
        const std::int64_t place = (plane_rows + first_row + own) * row_bytes;
        copy_rows<row_bytes, 8, false>(shared_address(tile.q) + own * row_bytes, static_cast<const char*>(arguments.q) + place,
                                       rows - own, lane);
        copy_rows<row_bytes, 8, false>(shared_address(tile.d_o) + own * row_bytes, static_cast<const char*>(arguments.d_o) + place,
                                       rows - own, lane);
        copy_async_commit();
        char* const dq = static_cast<char*>(arguments.dq) + place;
        fetch_eight_rows<row_bytes>(tile.d_q + own * row_bytes, dq, rows - own, lane);
        for_each_by_sector<threads, 4>(l + first_row, rows, thread, [&](int r) { tile.l[r] = __ldcg(l + first_row + r); });
        for_each_by_sector<threads, 4>(m + first_row, rows, thread, [&](int r) { tile.m[r] = __ldcg(m + first_row + r); });
        if (thread >= rows && thread < br) tile.l[thread] = 0.f, tile.m[thread] = minus_infinity();
        // Four lanes hold a row of O, for its product with dO.
        uint4 o[row_bytes / 64];
        const char* const o_row = static_cast<const char*>(arguments.o) + place + (lane / 4) * row_bytes + (lane & 3) * 16;
#pragma unroll
        for (int c = 0; c < row_bytes / 64; ++c)
          o[c] = own + lane / 4 < rows ? __ldcg(reinterpret_cast<const uint4*>(o_row + c * 64)) : zeros;
        copy_async_wait<0>();
        __syncwarp();  // the warp's own rows of dO have landed
        float d = 0.f;
#pragma unroll
        for (int c = 0; c < row_bytes / 64; ++c)
          d += dot<T>(o[c], *reinterpret_cast<const uint4*>(tile.d_o + own * row_bytes +
                                                            swizzled<row_bytes>(lane / 4, c * 4 + (lane & 3))));
        d = quad_sum(d);
        if ((lane & 3) == 0) tile.d[own + lane / 4] = d;
        __syncthreads();

        const int warp_row = row_group * 16, warp_key = half * 32;
        const int seen_by_first = arguments.causal ? first_row + warp_row + 1 + seq_kv - seq_q - first_key : keys;
        probe.tick(step, 1);
        weights_and_gradients<Shape>(arguments, tile, warp_row, warp_key, seen_by_first - warp_key, lane,
                                     probe.of_tile(plane_rows + first_row, rows, first_key, keys));
        __syncthreads();

        add_product<Shape, true>(dv_sum, pair_places, places, shared_address(tile.p), shared_address(tile.d_o), row_group, half);
        float dq_part[tiles][4];
#pragma unroll
        for (int n = 0; n < tiles; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) dq_part[n][e] = 0.f;
        add_product<Shape, false>(dq_part, pair_places, places, shared_address(tile.d_s), shared_address(tile.k), row_group, half);
#pragma unroll
        for (int part = 0; part < 2; ++part)
#pragma unroll
          for (int n = 0; n < tiles; ++n) {
            const int row = warp_row + part * 8 + lane / 4;
            T* const at = reinterpret_cast<T*>(tile.d_q + swizzled<row_bytes>(row, half * tiles + n) + (lane & 3) * 4);
            *reinterpret_cast<std::uint32_t*>(at) = pack<T>(to_float(at[0]) + dq_part[n][part * 2] * arguments.scale,
                                                            to_float(at[1]) + dq_part[n][part * 2 + 1] * arguments.scale);
          }
        add_product<Shape, true>(dk_sum, pair_places, places, shared_address(tile.d_s), shared_address(tile.q), row_group, half);
        __syncthreads();
        probe.tick(step, 2);
        store_rows<row_bytes, 8>(dq, tile.d_q + own * row_bytes, rows - own, lane);
        probe.tick(step, 3);
      }
    }

    // Q and dO have been read, so their tiles hold dK and dV on the way out.
    write_gradient<Shape>(tile.q, dk_sum, arguments.scale, row_group, half, lane);
    write_gradient<Shape>(tile.d_o, dv_sum, 1.f, row_group, half, lane);
    __syncthreads();
    store_rows<row_bytes, 8>(dk + from, tile.q + own * row_bytes, keys - own, lane);
    store_rows<row_bytes, 8>(dv + from, tile.d_o + own * row_bytes, keys - own, lane);
  }
  probe.end();
}

/// Returns the launch on the tensors of a problem.
template <class Recorder>
PlannedLaunch plan_flash1_backward(const AttentionProblem& problem, const DeviceTensors& tensors,
                                   const typename Recorder::Arguments& probe) {
  Flash1BackwardArguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.d_o = tensors.d_o;
  arguments.l = tensors.l;
  arguments.m = tensors.m;
  arguments.dq = tensors.dq;
  arguments.dk = tensors.dk;
  arguments.dv = tensors.dv;
  set_lengths_and_heads(arguments, problem);
  arguments.scale = static_cast<float>(problem.scale());
  arguments.causal = problem.causal;
  return by_shape(problem, [&]<class T, int d>() {
    using Shape = Flash1BackwardShape<T, d>;
    return planned("gradients", reinterpret_cast<const void*>(&flash1_backward_kernel<Shape, Recorder>),
                   {problem.batch * problem.kv_heads, 1, 1}, Shape::threads, Shape::shared_bytes,
                   Recorder::launch(arguments, probe));
  });
}

}  // namespace tilescope::device
