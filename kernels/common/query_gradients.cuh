// Device code of a block that owns a query tile: dQ stays in registers while key tiles pass by.
//
//   A warp owns 32 queries and a part of each key tile, and sums dQ over that part: its dS is the left operand of dQ += dS K as it
//   leaves the tensor cores, so the warps exchange nothing until the end, when the parts are added in order.
//
//     shared     Q, dO [Br,d]   K, V rings [2][Bc,d]   L, D [Br]       at the end: dQ [parts][Br,d] fp32
//     registers  dQ [32 queries, d] fp32   S, dP [32 queries, 32 keys] fp32
#pragma once

#include "kernels/common/key_gradients.cuh"

namespace tilescope::device {

/// Compile-time parameters of the blocks that own queries; tile and threads are those of the blocks that own keys.
/// `most_slices`: of a key tile that the loop's body has at once.
template <class Keys, int most_slices = Keys::bc>
struct QueryShape {
  using T = typename Keys::T;
  static constexpr int d = Keys::d, br = Keys::br, bc = Keys::bc, warps = Keys::warps, threads = Keys::threads, stages = 2;
  static constexpr bool causal = Keys::causal;
  static constexpr int query_warps = br / 32, parts = warps / query_warps, slices = bc / parts / 32;
  static constexpr int slices_at_once = most_slices < slices ? most_slices : slices;
  static constexpr int row_bytes = Keys::row_bytes, q_bytes = br * row_bytes, kv_bytes = bc * row_bytes;
  static constexpr int ring_start = 2 * q_bytes, stats_start = ring_start + 2 * stages * kv_bytes;
  static constexpr int barrier_start = stats_start + 2 * br * 4;
  static constexpr int sum_pitch = d + 8;  // floats; the padding spreads the rows over the banks
  static constexpr int shared_bytes = barrier_start + 2 * stages * 8;
  static_assert(parts * br * sum_pitch * 4 <= stats_start);
};

/// What a block that owns queries makes of the scores of a pair of tiles; see MaskedPair of the blocks that own keys.
template <class Shape>
struct MaskedQueryPair {
  bool masked;
  int keys, diagonal;

  /// Returns the first key of the j-th tile.
  __device__ __forceinline__ int key_of(int j) const { return j * Shape::bc; }
  __device__ __forceinline__ void start_next() const {}
  /// Takes dP - D and P before dS is made of them.
  __device__ __forceinline__ void take(const float (&)[2][4][4], const float (&)[2][4][4], int, int, int, int) const {}
  /// Replaces S of 32 queries x 32 keys by P, and sets dP to -D. `stats`: L of the tile's queries, then -D.
  __device__ __forceinline__ void weigh(float (&s)[2][4][4], float (&dp)[2][4][4], int first_query, int first_key,
                                        const float* stats, float scale, int lane) const {
    if (masked) {
      const int query = first_query + lane / 4, key = first_key + 2 * (lane & 3);
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int own_key = key + t * 8 + (i & 1), own_query = query + mt * 16 + (i / 2) * 8;
            if (own_key >= keys || (Shape::causal && own_key > own_query + diagonal)) s[mt][t][i] = minus_infinity();
          }
    }
    const float scale_log2 = scale * log2_e;
#pragma unroll
    for (int mt = 0; mt < 2; ++mt)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int own = first_query + mt * 16 + half * 8 + lane / 4;
        const float offset = stats[own], minus_d = stats[Shape::br + own];
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int i = half * 2; i < half * 2 + 2; ++i) {
            s[mt][t][i] = exp2_fast(s[mt][t][i] * scale_log2 - offset);
            dp[mt][t][i] = minus_d;
          }
      }
  }
};

template <class Shape>
class QueryBlock {
 protected:
  using T = typename Shape::T;
  static constexpr int row_bytes = Shape::row_bytes, br = Shape::br, bc = Shape::bc;

 public:
  /// `arrivals`: those of a thread at a full buffer, its copies and what a derived block adds.
  __device__ __forceinline__ QueryBlock(const GradientArguments& arguments, char* shared, int arrivals = 1)
      : a_(arguments),
        shared_(shared),
        base_(shared_address(shared)),
        lane_(__shfl_sync(0xffffffffu, threadIdx.x & 31, threadIdx.x & 31)),
        warp_(static_cast<int>(__reduce_max_sync(0xffffffffu, threadIdx.x >> 5))),
        query_warp_(warp_ / Shape::parts),
        part_(warp_ % Shape::parts),
        places_(lane_) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < Shape::stages; ++i) {
        barrier_start(full(i), arrivals * Shape::threads);
        barrier_start(empty(i), Shape::threads);
      }
    }
    __syncthreads();
  }

  /// Computes dQ of query tile `index`, counted over the heads that read the block's key head.
  __device__ __forceinline__ void run(int index) {
    const int query_tiles = (a_.seq_q + br - 1) / br, tile = index % query_tiles;
    const std::int64_t kv_plane = key_plane(a_), plane = kv_plane * (a_.heads / a_.kv_heads) + index / query_tiles;
    const int first_row = tile * br, rows = min(br, a_.seq_q - first_row), offset = a_.seq_kv - a_.seq_q;
    const std::int64_t row = plane * a_.seq_q + first_row;
    const int seen = Shape::causal ? max(0, min(a_.seq_kv, first_row + rows + offset)) : a_.seq_kv;
    const int count = (seen + bc - 1) / bc;
    for (auto& columns : sum_) clear(columns);
    if (count > 0) {
      start_rows(kv_plane, row, rows);
      start_copy(0, 0);
      __syncthreads();
    }
    for (int j = 0; j < count; ++j) {
      const int keys = a_.seq_kv - j * bc, diagonal = first_row + offset - j * bc;
      const bool masked = keys < bc || (Shape::causal && diagonal < bc - 1);
      iterate(j, j + 1 < count, MaskedQueryPair<Shape>{masked, keys, diagonal});
    }
    store(row, rows);
  }

 protected:
  __device__ __forceinline__ std::uint32_t full(int stage) const {
    return base_ + Shape::barrier_start + stage * 8;
  }
  __device__ __forceinline__ std::uint32_t empty(int stage) const {
    return full(Shape::stages + stage);
  }
  __device__ __forceinline__ std::uint32_t k_tile(int j) const {
    return base_ + Shape::ring_start + (j & 1) * Shape::kv_bytes;
  }
  __device__ __forceinline__ std::uint32_t v_tile(int j) const {
    return k_tile(j) + Shape::stages * Shape::kv_bytes;
  }
  __device__ __forceinline__ float* stats() const {
    return reinterpret_cast<float*>(shared_ + Shape::stats_start);
  }

  /// Loads L in powers of two and -D, past the L1. A row that sees no key, or does not exist, gets L = +inf: its P is 0.
  __device__ __forceinline__ void load_stats(std::int64_t row, int rows) {
    const int i = static_cast<int>(threadIdx.x) - elements_into_sector(a_.lse + row, 4);
    if (i < 0 || i >= br) return;
    const float lse = i < rows ? __ldcg(a_.lse + row + i) : minus_infinity(), delta = i < rows ? __ldcg(a_.delta + row + i) : 0.f;
    stats()[i] = lse == minus_infinity() ? -minus_infinity() : lse * log2_e;
    stats()[br + i] = -delta;
  }

  /// Starts the copies of the block's Q and dO, and loads L and D.
  __device__ __forceinline__ void start_rows(std::int64_t kv_plane, std::int64_t row, int rows) {
    constexpr int own = br / Shape::warps;
    const std::int64_t from = (row + warp_ * own) * row_bytes;
    copy_rows<row_bytes, own, false>(base_ + warp_ * own * row_bytes, static_cast<const char*>(a_.q) + from, rows - warp_ * own,
                                     lane_);
    copy_rows<row_bytes, own, false>(base_ + Shape::q_bytes + warp_ * own * row_bytes, static_cast<const char*>(a_.d_o) + from,
                                     rows - warp_ * own, lane_);
    load_stats(row, rows);
    k_plane_ = static_cast<const char*>(a_.k) + kv_plane * a_.seq_kv * row_bytes;
    v_plane_ = static_cast<const char*>(a_.v) + kv_plane * a_.seq_kv * row_bytes;
  }

  /// Starts the copies of the j-th key tile.
  __device__ __forceinline__ void start_copy(int j, int first_key) {
    barrier_wait(empty(j & 1), ((j >> 1) & 1) ^ 1);
    constexpr int own = bc / Shape::warps;
    const std::int64_t from = static_cast<std::int64_t>(first_key + warp_ * own) * row_bytes;
    const int keys = a_.seq_kv - first_key - warp_ * own;
    copy_rows<row_bytes, own, false>(k_tile(j) + warp_ * own * row_bytes, k_plane_ + from, keys, lane_);
    copy_rows<row_bytes, own, false>(v_tile(j) + warp_ * own * row_bytes, v_plane_ + from, keys, lane_);
    barrier_arrive_after_copies(full(j & 1));
  }

  /// Adds to dQ what the j-th key tile gives.
  template <class Pair>
  __device__ __forceinline__ void iterate(int j, bool more, const Pair& pair) {
    const std::uint32_t q = base_ + query_warp_ * 32 * row_bytes, d_o = q + Shape::q_bytes;
    barrier_wait(full(j & 1), (j >> 1) & 1);
#pragma unroll 1
    for (int first_slice = 0; first_slice < Shape::slices; first_slice += Shape::slices_at_once)
#pragma unroll
      for (int slice = first_slice; slice < first_slice + Shape::slices_at_once; ++slice) {
        const int first_key = (part_ * Shape::slices + slice) * 32;
        const std::uint32_t k = k_tile(j) + first_key * row_bytes, v = v_tile(j) + first_key * row_bytes;
        float s[2][4][4], dp[2][4][4];
        clear(s);
        add_product_transposed<T, row_bytes, 1>(s, places_, q, k);
        if (slice == 0 && more) {
          start_copy(j + 1, pair.key_of(j + 1));
          pair.start_next();
        }
        pair.weigh(s, dp, query_warp_ * 32, first_key, stats(), a_.scale, lane_);
        add_product_transposed<T, row_bytes, 0>(dp, places_, d_o, v);
        pair.take(dp, s, part_, query_warp_ * 32, first_key, lane_);
#pragma unroll
        for (int mt = 0; mt < 2; ++mt)
#pragma unroll
          for (int t = 0; t < 4; ++t)
#pragma unroll
            for (int i = 0; i < 4; ++i) dp[mt][t][i] *= s[mt][t][i];
        std::uint32_t left[2][2][4];
        pack_left<T>(left, dp);
#pragma unroll
        for (int columns = 0; columns < Shape::d / 64; ++columns)
          add_product<T, row_bytes>(sum_[columns], left, places_, k + columns * 128);
      }
    barrier_arrive(empty(j & 1));
  }

  /// Adds the parts of dQ in order and stores scale * dQ.
  __device__ __forceinline__ void store(std::int64_t row, int rows) {
    __syncthreads();
    float* const sums = reinterpret_cast<float*>(shared_);
    float* const own = sums + (part_ * br + query_warp_ * 32 + lane_ / 4) * Shape::sum_pitch + 2 * (lane_ & 3);
#pragma unroll
    for (int columns = 0; columns < Shape::d / 64; ++columns)
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int t = 0; t < 8; ++t)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            *reinterpret_cast<float2*>(own + (mt * 16 + half * 8) * Shape::sum_pitch + columns * 64 + t * 8) =
                make_float2(sum_[columns][mt][t][half * 2], sum_[columns][mt][t][half * 2 + 1]);
    __syncthreads();
    uint4* const to = static_cast<uint4*>(a_.dq) + row * (Shape::d / 8);
    for (int i = threadIdx.x; i < rows * (Shape::d / 8); i += Shape::threads) {
      const float* const from = sums + i / (Shape::d / 8) * Shape::sum_pitch + i % (Shape::d / 8) * 8;
      float x[8] = {};
#pragma unroll
      for (int part = 0; part < Shape::parts; ++part)
#pragma unroll
        for (int c = 0; c < 8; ++c) x[c] += from[part * br * Shape::sum_pitch + c];
#pragma unroll
      for (int c = 0; c < 8; ++c) x[c] *= a_.scale;
      to[i] = make_uint4(pack<T>(x[0], x[1]), pack<T>(x[2], x[3]), pack<T>(x[4], x[5]), pack<T>(x[6], x[7]));
    }
  }

  const GradientArguments& a_;
  char* shared_;
  std::uint32_t base_;
  int lane_, warp_, query_warp_, part_;
  LanePlaces<row_bytes> places_;
  const char* k_plane_ = nullptr;
  const char* v_plane_ = nullptr;
  float sum_[Shape::d / 64][2][8][4];
};

}  // namespace tilescope::device
