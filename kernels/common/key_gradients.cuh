// Device code of a block that owns a key tile: dK and dV stay in registers while query tiles pass by; where the shape says so, dQ
// is added to fp32 sums in memory.
//
//   S and P are computed transposed: a warp owns 32 keys, so its P^T and dS^T are left operands of dV += P^T dO and dK += dS^T Q
//   as they leave the tensor cores. With d = 128 two warps share 32 keys: each computes half of the queries, keeps half of the
//   columns of dK and dV, and reads the other's half of P^T and dS^T from shared memory.
//
//     shared     K, V [Bc,d]   Q, dO rings [2][Br,d]   dS^T [Bc,Br]   P^T [Bc,Br] (d = 128)   L, D [2][Br]
//     registers  dK, dV [32 keys, 64 columns] fp32     S^T, dP^T [32 keys, 32 queries] fp32
//
//   dQ = dS K needs the dS^T of all warps, so it comes last in an iteration: by then the slowest warp has written its part.
#pragma once

#include "kernels/common/gradient_rows.cuh"
#include "kernels/common/no_probe.cuh"
#include "kernels/common/query_visits.cuh"

namespace tilescope::device {

/// Compile-time parameters of one build. Without `adds` the block leaves dQ to others.
template <class Element, int dim, bool is_causal, bool adds, int steps_ahead>
struct KeyShape {
  using T = Element;
  static constexpr int d = dim, br = 64, bc = 128;
  static constexpr bool causal = is_causal, adds_d_q = adds;
  static constexpr int ahead = steps_ahead;  // of the fragments of S: 1 is faster and takes registers
  static constexpr int key_warps = bc / 32, splits = d / 64, warps = key_warps * splits, threads = warps * 32;
  static constexpr int slices = br / 32 / splits;  // slices of 32 queries that a warp computes
  static constexpr int min_blocks = d == 64 ? 2 : 1, stages = 2;
  static constexpr int row_bytes = d * 2, pair_row_bytes = br * 2;
  static constexpr int kv_bytes = bc * row_bytes, q_bytes = br * row_bytes, pair_bytes = bc * pair_row_bytes;
  static constexpr int ring_start = 2 * kv_bytes, d_s_start = ring_start + 2 * stages * q_bytes, p_start = d_s_start + pair_bytes;
  static constexpr int stats_start = p_start + (splits == 2 ? pair_bytes : 0);
  static constexpr int barrier_start = stats_start + stages * 2 * br * 4;
  static constexpr int barriers = 2 * stages + 2 + 2 * key_warps;
  static constexpr int shared_bytes = barrier_start + barriers * 8;
  static_assert(d == 64 || d == 128);
};

/// Loads two neighbouring floats of shared memory.
__device__ __forceinline__ float2 load_two(std::uint32_t address) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(address) : "memory");
  return x;
}

/// What a block that owns keys makes of the scores of a pair of tiles: P, with the shape's mask. A block with expressions has a
/// type of its own in its place.
template <class Shape>
struct MaskedPair {
  bool masked;
  int keys;      // of the tile, that exist
  int diagonal;  // keys before it are seen by every query of the tile

  /// Starts what the next query tile needs beside its copies.
  __device__ __forceinline__ void start_next() const {}
  /// Replaces S^T of 32 keys x 32 queries by P^T, rounds P^T to a left operand, and sets dP^T to -D. `stats`: L and -D of the
  /// lane's first query.
  __device__ __forceinline__ void weigh(float (&s)[2][4][4], float (&dp)[2][4][4], std::uint32_t (&p_left)[2][2][4], int first_key,
                                        int first_query, std::uint32_t stats, float scale, int lane) const {
    if (masked) {
      const int key = first_key + lane / 4, query = first_query + 2 * (lane & 3);
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int own_key = key + mt * 16 + (i / 2) * 8, own_query = query + t * 8 + (i & 1);
            if (own_key >= keys || (Shape::causal && own_key > own_query + diagonal)) s[mt][t][i] = minus_infinity();
          }
    }
    const float scale_log2 = scale * log2_e;
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float2 offset = load_two(stats + t * 32), minus_d = load_two(stats + (Shape::br + t * 8) * 4);
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          s[mt][t][i] = exp2_fast(s[mt][t][i] * scale_log2 - (i & 1 ? offset.y : offset.x));
          dp[mt][t][i] = i & 1 ? minus_d.y : minus_d.x;
        }
    }
    pack_left<typename Shape::T>(p_left, s);
  }
};

template <class Shape>
class KeyBlock {
 protected:
  using T = typename Shape::T;
  static constexpr int row_bytes = Shape::row_bytes, pair_row_bytes = Shape::pair_row_bytes, br = Shape::br, bc = Shape::bc;

 public:
  __device__ __forceinline__ KeyBlock(const GradientArguments& arguments, char* shared)
      : a_(arguments),
        base_(shared_address(shared)),
        lane_(__shfl_sync(0xffffffffu, threadIdx.x & 31, threadIdx.x & 31)),
        warp_(static_cast<int>(__reduce_max_sync(0xffffffffu, threadIdx.x >> 5))),
        key_warp_(warp_ % Shape::key_warps),
        half_(warp_ / Shape::key_warps),
        places_(lane_),
        pair_places_(lane_) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < Shape::stages; ++i) {
        barrier_start(full(i), 2 * Shape::threads);
        barrier_start(empty(i), Shape::threads);
      }
      barrier_start(d_s_full(), Shape::threads);
      barrier_start(d_s_read(), Shape::threads);
#pragma unroll
      for (int i = 0; i < Shape::key_warps; ++i) barrier_start(pair_full(i), 64), barrier_start(pair_read(i), 64);
    }
    __syncthreads();
  }

  /// Computes dK and dV of key tile `tile()` and adds its part of dQ to `sums()`. Both are asked again where they are needed.
  template <class Tile, class Sums, class Recorder = NoProbe>
  __device__ __forceinline__ void run(const Tile& tile, const Sums& sums, const Recorder& probe = Recorder()) {
    const int first_key = tile() * bc, keys = min(bc, a_.seq_kv - first_key);
    const QueryVisits<Shape> visits(a_, first_key);
    const std::int64_t kv_plane = key_plane(a_);
    copy_keys(kv_plane, first_key, keys);
    clear(dk_);
    clear(dv_);
    next_tile_ = visits.first_tile;
    next_row_ = kv_plane * visits.group * a_.seq_q;
    start_copy(step_);
    finish_copy(step_);
    if (step_ == 0) probe.mark(1);  // of the block's first key tile
    for (const int end = step_ + visits.count(); step_ < end; ++step_) {
      const int first_row = next_tile_ * br;
      const std::int64_t row = next_row_ + first_row;
      if (++next_tile_ == visits.tiles) next_tile_ = visits.first_tile, next_row_ += a_.seq_q;
      const int diagonal = first_row + a_.seq_kv - a_.seq_q - first_key;  // keys before it are seen by every query of the tile
      const bool masked = keys < bc || (Shape::causal && diagonal < bc - 1);
      const auto recorder = probe.of_tile(row, min(br, a_.seq_q - first_row), first_key, keys);
      recorder.tick(step_, 0);
      iterate(step_ + 1 < end, MaskedPair<Shape>{masked, keys, diagonal}, recorder);
      if constexpr (Shape::adds_d_q) {
        add_d_q(sums(), row, min(br, a_.seq_q - first_row));
        recorder.tick(step_, Shape::splits + 2);
      }
    }
    probe.mark(2);
    store(tile() * bc);
    probe.mark(3);
  }

 protected:
  __device__ __forceinline__ std::uint32_t barrier(int i) const {
    return base_ + Shape::barrier_start + i * 8;
  }
  __device__ __forceinline__ std::uint32_t full(int stage) const {
    return barrier(stage);
  }
  __device__ __forceinline__ std::uint32_t empty(int stage) const {
    return barrier(Shape::stages + stage);
  }
  __device__ __forceinline__ std::uint32_t d_s_full() const {
    return barrier(2 * Shape::stages);
  }
  __device__ __forceinline__ std::uint32_t d_s_read() const {
    return barrier(2 * Shape::stages + 1);
  }
  __device__ __forceinline__ std::uint32_t pair_full(int key_warp) const {
    return barrier(2 * Shape::stages + 2 + key_warp);
  }
  __device__ __forceinline__ std::uint32_t pair_read(int key_warp) const {
    return pair_full(Shape::key_warps + key_warp);
  }
  __device__ __forceinline__ std::uint32_t q_tile(int step) const {
    return base_ + Shape::ring_start + (step & 1) * Shape::q_bytes;
  }
  __device__ __forceinline__ std::uint32_t d_o_tile(int step) const {
    return q_tile(step) + Shape::stages * Shape::q_bytes;
  }
  __device__ __forceinline__ std::uint32_t d_s_tile() const {
    return base_ + Shape::d_s_start;
  }
  __device__ __forceinline__ std::uint32_t p_tile() const {
    return base_ + Shape::p_start;
  }
  __device__ __forceinline__ std::uint32_t stats(int step) const {
    return base_ + Shape::stats_start + (step & 1) * 2 * br * 4;
  }

  /// Starts the copies of the block's K and V.
  __device__ __forceinline__ void copy_keys(std::int64_t kv_plane, int first_key, int keys) const {
    constexpr int kv_rows = bc / Shape::warps;
    const std::int64_t from = (kv_plane * a_.seq_kv + first_key + warp_ * kv_rows) * row_bytes;
    const std::uint32_t to = base_ + warp_ * kv_rows * row_bytes;
    copy_rows<row_bytes, kv_rows, false>(to, static_cast<const char*>(a_.k) + from, keys - warp_ * kv_rows, lane_);
    copy_rows<row_bytes, kv_rows, false>(to + Shape::kv_bytes, static_cast<const char*>(a_.v) + from, keys - warp_ * kv_rows,
                                         lane_);
  }

  /// Starts the copies of the query tile of a step; L and D go through registers, past the L1.
  __device__ __forceinline__ void start_copy(int step) {
    const int first_row = next_tile_ * br, rows = min(br, a_.seq_q - first_row);
    const std::int64_t row = next_row_ + first_row;
    barrier_wait(empty(step & 1), ((step >> 1) & 1) ^ 1);
    constexpr int q_rows = br / Shape::warps;
    const std::int64_t from = (row + warp_ * q_rows) * row_bytes;
    copy_rows<row_bytes, q_rows, false>(q_tile(step) + warp_ * q_rows * row_bytes, static_cast<const char*>(a_.q) + from,
                                        rows - warp_ * q_rows, lane_);
    copy_rows<row_bytes, q_rows, false>(d_o_tile(step) + warp_ * q_rows * row_bytes, static_cast<const char*>(a_.d_o) + from,
                                        rows - warp_ * q_rows, lane_);
    barrier_arrive_after_copies(full(step & 1));
    stat_row_ = static_cast<int>(threadIdx.x) - elements_into_sector(a_.lse + row, 4);
    lse_ = minus_infinity();
    delta_ = 0.f;
    if (stat_row_ >= 0 && stat_row_ < rows) {
      lse_ = __ldcg(a_.lse + row + stat_row_);
      delta_ = __ldcg(a_.delta + row + stat_row_);
    }
  }
  /// Publishes L in powers of two and -D. A row that sees no key, or does not exist, gets L = +inf, so that its P is 0.
  __device__ __forceinline__ void finish_copy(int step) {
    if (stat_row_ >= 0 && stat_row_ < br) {
      const float offset = lse_ == minus_infinity() ? -minus_infinity() : lse_ * log2_e;
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(stats(step) + stat_row_ * 4), "f"(offset) : "memory");
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(stats(step) + (br + stat_row_) * 4), "f"(-delta_) : "memory");
    }
    barrier_arrive(full(step & 1));
  }

  /// Makes S, P, dP and dS of a query tile and adds to dK and dV.
  template <class Pair, class Recorder = NoProbe>
  __device__ __forceinline__ void iterate(bool more, const Pair& pair, const Recorder& recorder = Recorder()) {
    const int step = step_;
    const std::uint32_t own_k = base_ + key_warp_ * 32 * row_bytes, own_v = own_k + Shape::kv_bytes;
    barrier_wait(full(step & 1), (step >> 1) & 1);
    recorder.tick(step, 1);
#pragma unroll Shape::adds_d_q ? Shape::slices : 1
    for (int slice = 0; slice < Shape::slices; ++slice) {
      const int first_query = (Shape::splits == 2 ? half_ : slice) * 32;
      const std::uint32_t q = q_tile(step) + first_query * row_bytes, d_o = d_o_tile(step) + first_query * row_bytes;
      const std::uint32_t own_stats = stats(step) + (first_query + 2 * (lane_ & 3)) * 4;
      float s[2][4][4], dp[2][4][4];
      std::uint32_t p_left[2][2][4], ds_left[2][2][4];
      clear(s);
      add_product_transposed<T, row_bytes, Shape::ahead>(s, places_, own_k, q);
      if (slice == 0 && more) {
        start_copy(step + 1);
        pair.start_next();
      }
      const auto record = [&](PairNumber what, const float(&x)[2][4][4]) {
        recorder.record(what, x, key_warp_ * 32 + lane_ / 4, first_query + 2 * (lane_ & 3));
      };
      record(PairNumber::score, s);
      pair.weigh(s, dp, p_left, key_warp_ * 32, first_query, own_stats, a_.scale, lane_);
      record(PairNumber::probability, s);
      record(PairNumber::minus_d, dp);
      const std::uint32_t own_pair = key_warp_ * 32 * pair_row_bytes;
      if (slice == 0) wait_until_read();
      if constexpr (Shape::splits == 2) store_left<pair_row_bytes>(p_tile() + own_pair, p_left, first_query / 8, lane_);
      add_product_transposed<T, row_bytes, 0>(dp, places_, own_v, d_o);
      record(PairNumber::d_p_minus_d, dp);
      add_product<T, row_bytes>(dv_, p_left, places_, d_o + half_ * 128);
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int i = 0; i < 4; ++i) dp[mt][t][i] *= s[mt][t][i];
      record(PairNumber::d_s, dp);
      pack_left<T>(ds_left, dp);
      if constexpr (Shape::adds_d_q || Shape::splits == 2)
        store_left<pair_row_bytes>(d_s_tile() + own_pair, ds_left, first_query / 8, lane_);
      if (slice == Shape::slices - 1) {
        if constexpr (Shape::splits == 2) barrier_arrive(pair_full(key_warp_));
        if constexpr (Shape::adds_d_q) barrier_arrive(d_s_full());
      }
      add_product<T, row_bytes>(dk_, ds_left, places_, q + half_ * 128);
    }
    recorder.tick(step, 2);
    if constexpr (Shape::splits == 2) {
      barrier_wait(pair_full(key_warp_), step & 1);
      const int other = half_ ^ 1;
      const std::uint32_t own_pair = key_warp_ * 32 * pair_row_bytes, q = q_tile(step) + other * 32 * row_bytes + half_ * 128,
                          d_o = d_o_tile(step) + other * 32 * row_bytes + half_ * 128;
      std::uint32_t left[2][2][4];
      load_left(left, p_tile() + own_pair, other);
      add_product<T, row_bytes>(dv_, left, places_, d_o);
      load_left(left, d_s_tile() + own_pair, other);
      if constexpr (!Shape::adds_d_q) barrier_arrive(pair_read(key_warp_));
      add_product<T, row_bytes>(dk_, left, places_, q);
      recorder.tick(step, 3);
    }
    if (more) finish_copy(step + 1);
    barrier_arrive(empty(step & 1));
  }

  /// Waits until P^T and dS^T of the step before have been read.
  __device__ __forceinline__ void wait_until_read() const {
    if constexpr (Shape::adds_d_q)
      barrier_wait(d_s_read(), (step_ & 1) ^ 1);
    else if constexpr (Shape::splits == 2)
      barrier_wait(pair_read(key_warp_), (step_ & 1) ^ 1);
  }

  /// Loads 32 keys x 32 queries of the other warp as a left operand.
  __device__ __forceinline__ void load_left(std::uint32_t (&left)[2][2][4], std::uint32_t rows, int other) const {
#pragma unroll
    for (int k = 0; k < 2; ++k)
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
        load_matrices(left[k][mt],
                      pair_places_.stepped(pair_places_.rows_first ^ (other << 6), k, rows + mt * 16 * pair_row_bytes));
  }

  /// Adds dQ = dS K of this step to its rows of dQ_acc. A warp computes 32 queries and 32 columns.
  __device__ __forceinline__ void add_d_q(float* d_q_acc, std::int64_t row, int rows) const {
    constexpr int column_warps = Shape::d / 32, steps = bc / 16;
    const int query_part = warp_ / column_warps, column_part = warp_ % column_warps;
    const std::uint32_t left_place = d_s_tile() + (pair_places_.chunks_first ^ (query_part << 6));
    const std::uint32_t right_place = base_ + (places_.rows_first ^ ((column_part & 1) << 6)) + (column_part >> 1) * 128;
    float sum[2][4][4];
    std::uint32_t a[2][2][4], b[2][2][4];
    auto fetch = [&](int k) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices_transposed(a[k & 1][i], (left_place ^ (i << 5)) + k * 16 * pair_row_bytes);
        load_matrices_transposed(b[k & 1][i], (right_place ^ (i << 5)) + k * 16 * row_bytes);
      }
    };
    clear(sum);
    barrier_wait(d_s_full(), step_ & 1);
    fetch(0);
#pragma unroll
    for (int k = 0; k < steps; ++k) {
      if (k + 1 < steps) fetch(k + 1);
#pragma unroll
      for (int t = 0; t < 4; ++t)
#pragma unroll
        for (int mt = 0; mt < 2; ++mt)
          mma<T>(sum[mt][t], a[k & 1][mt], b[k & 1][t / 2][(t & 1) * 2], b[k & 1][t / 2][(t & 1) * 2 + 1], sum[mt][t]);
    }
    barrier_arrive(d_s_read());
    const int first = query_part * 32 + lane_ / 4;
    float* const to = d_q_acc + (row + first) * Shape::d + column_part * 32 + (lane_ & 3) * 4;
#pragma unroll
    for (int mt = 0; mt < 2; ++mt)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (first + mt * 16 + half * 8 < rows)
#pragma unroll
          for (int g = 0; g < 2; ++g)
            add_in_memory(to + (mt * 16 + half * 8) * Shape::d + g * 16, sum[mt][g * 2][half * 2], sum[mt][g * 2][half * 2 + 1],
                          sum[mt][g * 2 + 1][half * 2], sum[mt][g * 2 + 1][half * 2 + 1]);
  }

  /// Stores scale * dK and dV through the memory of K and V, which no warp reads any more.
  __device__ __forceinline__ void store(int first_key) {
    const int keys = min(bc, a_.seq_kv - first_key);
    __syncthreads();
    const std::uint32_t own_k = base_ + key_warp_ * 32 * row_bytes + half_ * 128, own_v = own_k + Shape::kv_bytes;
#pragma unroll
    for (int mt = 0; mt < 2; ++mt)
#pragma unroll
      for (int t = 0; t < 8; ++t)
#pragma unroll
        for (int i = 0; i < 4; ++i) dk_[mt][t][i] *= a_.scale;
    std::uint32_t left[4][2][4];
    pack_left<T>(left, dk_);
    store_left<row_bytes>(own_k, left, 0, lane_);
    pack_left<T>(left, dv_);
    store_left<row_bytes>(own_v, left, 0, lane_);
    __syncthreads();
    constexpr int kv_rows = bc / Shape::warps;
    const std::int64_t to = (key_plane(a_) * a_.seq_kv + first_key + warp_ * kv_rows) * row_bytes;
    extern __shared__ __align__(128) char shared[];
    store_rows<row_bytes, kv_rows>(static_cast<char*>(a_.dk) + to, shared + warp_ * kv_rows * row_bytes, keys - warp_ * kv_rows,
                                   lane_);
    store_rows<row_bytes, kv_rows>(static_cast<char*>(a_.dv) + to, shared + Shape::kv_bytes + warp_ * kv_rows * row_bytes,
                                   keys - warp_ * kv_rows, lane_);
  }

  const GradientArguments& a_;
  std::uint32_t base_;
  int lane_, warp_, key_warp_, half_;
  LanePlaces<row_bytes> places_;
  LanePlaces<pair_row_bytes> pair_places_;
  float dk_[2][8][4], dv_[2][8][4];
  int step_ = 0;
  int next_tile_ = 0, stat_row_ = 0;
  std::int64_t next_row_ = 0;
  float lse_ = 0.f, delta_ = 0.f;
};

}  // namespace tilescope::device
