// Device code of flash1: one block a head. Keys are the outer loop, so each inner step loads and stores O, l and m of a query tile.
//
//   4 warps of 16 rows. Shared memory holds the four tiles of the paper: Q and O [Br,d], K and V [Bc,d].
//   O has the problem's type in shared memory too, as in global memory; l and m are fp32.
#pragma once

#include "kernels/common/by_shape.cuh"
#include "kernels/common/probe.cuh"
#include "kernels/common/warp_tiles.cuh"

namespace tilescope::device {

struct Flash1Arguments {
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* l;
  float* m;
  int seq_q, seq_kv;
  int heads, kv_heads;
  float scale;
  bool causal;
};

template <class Element, int dim>
struct Flash1Shape {
  using T = Element;
  static constexpr int br = 64, bc = 64, threads = 128, d = dim, row_bytes = dim * 2;
  static constexpr int q_bytes = br * row_bytes, kv_bytes = bc * row_bytes;
  static constexpr int shared_bytes = 2 * q_bytes + 2 * kv_bytes + 2 * br * 4;
};

/// Loads 16 rows of O into a swizzled shared tile, past the L1: each inner step reads from the L2 what an earlier one stored.
template <int row_bytes>
__device__ __forceinline__ void fetch_rows(char* shared, const char* global, int rows, int lane) {
  constexpr int row_chunks = row_bytes / 16, rows_a_step = 32 / row_chunks;
#pragma unroll
  for (int i = 0; i < 16 / rows_a_step; ++i) {
    const int row = i * rows_a_step + lane / row_chunks, chunk = lane % row_chunks;
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (row < rows) bytes = __ldcg(reinterpret_cast<const uint4*>(global + row * row_bytes + chunk * 16));
    *reinterpret_cast<uint4*>(shared + swizzled<row_bytes>(row, chunk)) = bytes;
  }
}

/// Identifies one inner step of the block.
struct Flash1Turn {
  int key_tile, first_row, number;
};

/// Runs one inner step of one warp: its 16 rows of Q and O against the whole tile of K and V. m is in powers of e, as in global
/// memory.
template <class Shape, class Recorder>
__device__ __forceinline__ void flash1_step(const Flash1Arguments& arguments, char* q_rows, char* o_rows, std::uint32_t k_tile,
                                            std::uint32_t v_tile, float* l_rows, float* m_rows, int visible, bool masked, int lane,
                                            const Recorder& probe, const Flash1Turn& turn) {
  using T = typename Shape::T;
  constexpr int row_bytes = Shape::row_bytes, o_tiles = Shape::d / 8, s_tiles = Shape::bc / 8;
  const LanePlaces<row_bytes> places(lane);
  const float scale_log2 = arguments.scale * log2_e;
  float s[1][s_tiles][4], pv[o_tiles][4];
  multiply_transposed<T, row_bytes>(s, places, shared_address(q_rows), k_tile);
  probe.tick(turn.number, 2);
  if (masked) {
    if (arguments.causal)
      mask_scores<true>(s, visible, lane);
    else
      mask_scores<false>(s, visible, lane);
  }

  std::uint32_t p[s_tiles / 2][4];
  float old_factor[2], new_factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = minus_infinity();
#pragma unroll
    for (int n = 0; n < s_tiles; ++n) most = fmaxf(most, fmaxf(s[0][n][half * 2], s[0][n][half * 2 + 1]));
    most = quad_max(most) * scale_log2;  // maximum over this tile only
    const float base = most == minus_infinity() ? 0.f : most;
    float sum = 0.f;
#pragma unroll
    for (int n = 0; n < s_tiles; ++n) {
      const float x = exp2_fast(s[0][n][half * 2] * scale_log2 - base), y = exp2_fast(s[0][n][half * 2 + 1] * scale_log2 - base);
      sum += x + y;
      p[n / 2][n % 2 * 2 + half] = pack<T>(x, y);
    }
    sum = quad_sum(sum);
    const int row = half * 8 + lane / 4;
    const float m_old = m_rows[row] * log2_e, l_old = l_rows[row];
    const float m_new = fmaxf(m_old, most), finite = m_new == minus_infinity() ? 0.f : m_new;
    const float alpha = exp2_fast(m_old - finite), beta = exp2_fast(most - finite);
    const float l_new = alpha * l_old + beta * sum;
    const float inverse = l_new == 0.f ? 0.f : 1.f / l_new;
    old_factor[half] = l_old * alpha * inverse;
    new_factor[half] = beta * inverse;
    if constexpr (Recorder::on) {
      probe.statistics(turn.key_tile, turn.first_row + half * 8, m_new * ln_2, alpha);
      probe.sums(turn.key_tile, turn.first_row + half * 8, (lane & 3) == 0 ? l_new : 0.f);
    }
    __syncwarp();
    if ((lane & 3) == 0) {
      l_rows[row] = l_new;
      m_rows[row] = m_new == m_old ? m_rows[row] : m_new * ln_2;  // keep an unchanged maximum bit for bit
    }
  }
  probe.tick(turn.number, 3);

#pragma unroll
  for (int n = 0; n < o_tiles; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) pv[n][i] = 0.f;
#pragma unroll
  for (int slice = 0; slice < Shape::bc / 16; ++slice)
#pragma unroll
    for (int g = 0; g < o_tiles / 2; ++g) {
      std::uint32_t b[4];
      load_matrices_transposed(b, places.stepped(places.rows_first, g, v_tile + slice * 16 * row_bytes));
      mma<T>(pv[2 * g], p[slice], b[0], b[1], pv[2 * g]);
      mma<T>(pv[2 * g + 1], p[slice], b[2], b[3], pv[2 * g + 1]);
    }
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int n = 0; n < o_tiles; ++n) {
      T* const place = reinterpret_cast<T*>(o_rows + swizzled<row_bytes>(half * 8 + lane / 4, n) + (lane & 3) * 4);
      *reinterpret_cast<std::uint32_t*>(place) =
          pack<T>(to_float(place[0]) * old_factor[half] + pv[n][half * 2] * new_factor[half],
                  to_float(place[1]) * old_factor[half] + pv[n][half * 2 + 1] * new_factor[half]);
    }
  __syncwarp();
}

template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads) void flash1_kernel(
    const typename Recorder::template Launch<Flash1Arguments> arguments) {
  constexpr int row_bytes = Shape::row_bytes, threads = Shape::threads;
  extern __shared__ __align__(128) char shared[];
  char* const o_tile = shared + Shape::q_bytes;
  char* const k_tile = o_tile + Shape::q_bytes;
  char* const v_tile = k_tile + Shape::kv_bytes;
  float* const l_tile = reinterpret_cast<float*>(v_tile + Shape::kv_bytes);
  float* const m_tile = l_tile + Shape::br;

  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, warp_row = warp * 16;
  const Recorder probe(arguments, warp_row + lane / 4, warp, lane);
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const std::int64_t plane = blockIdx.x, head = plane % arguments.heads;
  const std::int64_t kv_plane = plane / arguments.heads * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads);
  const char* const q = static_cast<const char*>(arguments.q) + plane * seq_q * row_bytes;
  const char* const k = static_cast<const char*>(arguments.k) + kv_plane * seq_kv * row_bytes;
  const char* const v = static_cast<const char*>(arguments.v) + kv_plane * seq_kv * row_bytes;
  char* const o = static_cast<char*>(arguments.o) + plane * seq_q * row_bytes;
  float* const l = arguments.l + plane * seq_q;
  float* const m = arguments.m + plane * seq_q;
  const int query_tiles = (seq_q + Shape::br - 1) / Shape::br, key_tiles = (seq_kv + Shape::bc - 1) / Shape::bc;
  char* const own_q = shared + warp_row * row_bytes;
  char* const own_o = o_tile + warp_row * row_bytes;

  probe.mark(0);
  for (std::int64_t i = thread; i < static_cast<std::int64_t>(seq_q) * (row_bytes / 16); i += threads)
    reinterpret_cast<uint4*>(o)[i] = make_uint4(0, 0, 0, 0);
  for (int first = 0; first < seq_q; first += Shape::br) {
    const int count = min(Shape::br, seq_q - first);
    for_each_by_sector<threads, 4>(l + first, count, thread, [&](int i) { l[first + i] = 0.f; });
    for_each_by_sector<threads, 4>(m + first, count, thread, [&](int i) { m[first + i] = minus_infinity(); });
  }
  __syncthreads();
  probe.mark(1);

  for (int j = 0; j < key_tiles; ++j) {
    const int first_key = j * Shape::bc, keys = min(Shape::bc, seq_kv - first_key);
    // First query tile with a row that sees key `first_key`.
    const int first_tile = arguments.causal ? max(0, first_key - (seq_kv - seq_q)) / Shape::br : 0;
    if (first_tile >= query_tiles) break;
    probe.tick(j * query_tiles + first_tile, 0);
    const std::int64_t from = static_cast<std::int64_t>(first_key + warp_row) * row_bytes;
    copy_rows<row_bytes, 16, false>(shared_address(k_tile) + warp_row * row_bytes, k + from, keys - warp_row, lane);
    copy_rows<row_bytes, 16, false>(shared_address(v_tile) + warp_row * row_bytes, v + from, keys - warp_row, lane);
    for (int i = first_tile; i < query_tiles; ++i) {
      const int first_row = i * Shape::br, rows = min(Shape::br, seq_q - first_row);
      const Flash1Turn turn = {j, first_row, j * query_tiles + i};
      if constexpr (Recorder::on)
        if (i != first_tile) probe.tick(turn.number, 0);
      const std::int64_t place = static_cast<std::int64_t>(first_row + warp_row) * row_bytes;
      copy_rows<row_bytes, 16, false>(shared_address(own_q), q + place, rows - warp_row, lane);
      copy_async_commit();
      fetch_rows<row_bytes>(own_o, o + place, rows - warp_row, lane);
      for_each_by_sector<threads, 4>(l + first_row, rows, thread, [&](int r) { l_tile[r] = __ldcg(l + first_row + r); });
      for_each_by_sector<threads, 4>(m + first_row, rows, thread, [&](int r) { m_tile[r] = __ldcg(m + first_row + r); });
      for (int r = rows + thread; r < Shape::br; r += threads) l_tile[r] = 0.f, m_tile[r] = minus_infinity();
      copy_async_wait<0>();
      __syncthreads();
      probe.tick(turn.number, 1);
      const int seen_by_first = arguments.causal ? first_row + warp_row + 1 + seq_kv - seq_q - first_key : keys;
      flash1_step<Shape>(arguments, own_q, own_o, shared_address(k_tile), shared_address(v_tile), l_tile + warp_row,
                         m_tile + warp_row, seen_by_first, seen_by_first < Shape::bc, lane, probe, turn);
      probe.tick(turn.number, 4);
      store_rows<row_bytes, 16>(o + place, own_o, rows - warp_row, lane);
      __syncthreads();
      for_each_by_sector<threads, 4>(l + first_row, rows, thread, [&](int r) { l[first_row + r] = l_tile[r]; });
      for_each_by_sector<threads, 4>(m + first_row, rows, thread, [&](int r) { m[first_row + r] = m_tile[r]; });
      __syncthreads();  // the next step overwrites l and m, or K and V
      probe.tick(turn.number, 5);
    }
  }
  probe.end();
}

template <class Recorder>
PlannedLaunch plan_flash1(const AttentionProblem& problem, const DeviceTensors& tensors,
                          const typename Recorder::Arguments& probe) {
  Flash1Arguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.l = tensors.l;
  arguments.m = tensors.m;
  set_lengths_and_heads(arguments, problem);
  arguments.scale = static_cast<float>(problem.scale());
  arguments.causal = problem.causal;
  return by_shape(problem, [&]<class T, int d>() {
    using Shape = Flash1Shape<T, d>;
    return planned("attention", reinterpret_cast<const void*>(&flash1_kernel<Shape, Recorder>), {problem.query_planes(), 1, 1},
                   Shape::threads, Shape::shared_bytes, Recorder::launch(arguments, probe));
  });
}

}  // namespace tilescope::device
