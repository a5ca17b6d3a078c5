// A warp of flash2 and of flex: its rows' S, O, m and l, and the steps of an iteration that need no other warp.
//
//   The exponentials of the next slice of 16 keys are interleaved with the products of the current one, so that the
//   special-function unit and the tensor cores work at the same time. NVRTC compiles this file too: it includes nothing of the
//   host.
#pragma once

#include "kernels/common/warp_tiles.cuh"

namespace tilescope::device {

struct Flash2Arguments {
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;
  int seq_q, seq_kv;
  int heads, kv_heads;
  float scale;
};

/// Order in which blocks get their query tiles. grouped takes the last tiles of a set of planes (batch x heads) first, because
/// under a causal mask it sees the most keys. Its grid is [planes together, tiles, sets]: K and V of the planes of a set fit the
/// L2.
enum class QueryTileOrder { launch, grouped };

/// Order in which a block visits its key tiles. Descending starts at the diagonal of a causal mask, as FlashAttention-2 does.
enum class KeyTileOrder { ascending, descending };

/// Compile-time parameters of one build of the kernel.
template <class Element, int dim, int block_rows, int block_keys, int warp_count, int ring, int blocks, bool is_causal,
          KeyTileOrder tile_order, QueryTileOrder query_order = QueryTileOrder::launch>
struct Flash2Shape {
  using T = Element;
  static constexpr int d = dim, br = block_rows, bc = block_keys, warps = warp_count, stages = ring, min_blocks = blocks;
  static constexpr bool causal = is_causal;
  static constexpr bool rows_may_be_hidden = is_causal;  // by all tiles so far
  static constexpr bool keeps_offsets = false;           // row_max holds max * scale, what exp2 subtracts
  static constexpr bool skips_hidden = false;            // a warp skips tiles of which none of its rows sees a key
  static constexpr bool descending = tile_order == KeyTileOrder::descending;
  static constexpr bool grouped = query_order == QueryTileOrder::grouped;
  static constexpr int key_step = descending ? -bc : bc;  // keys from one visited tile to the next
  static constexpr int threads = warps * 32;
  static constexpr int row_bytes = d * 2;
  static constexpr int row_chunks = d / 8;           // 16-byte chunks
  static constexpr int m_tiles = br / (16 * warps);  // tiles of 16 rows, per warp
  static constexpr int rows_per_warp = 16 * m_tiles;
  static constexpr int q_bytes = br * row_bytes, kv_bytes = bc * row_bytes, step_bytes = key_step * row_bytes;
  static constexpr int barrier_bytes = 2 * stages * 8;
  static constexpr int shared_bytes = q_bytes + 2 * stages * kv_bytes + br * 4 + barrier_bytes;
  static_assert(br % (16 * warps) == 0 && bc % 16 == 0 && (d == 64 || d == 128));
  static_assert(bc % (8 * warps) == 0, "a warp copies whole swizzle periods");
};

/// The offset of a row that has seen no key, where offsets are kept: finite, so that its exponentials are 0 and not NaN.
inline constexpr float least_offset = -2.9e38f;

/// One warp's rows: what it keeps in registers, and the steps of an iteration.
template <class Shape>
struct Flash2Warp {
  using T = typename Shape::T;
  static constexpr int m_tiles = Shape::m_tiles, s_tiles = Shape::bc / 8, o_tiles = Shape::d / 8;

  float o[m_tiles][o_tiles][4];
  float s[m_tiles][s_tiles][4];
  float row_max[m_tiles][2], row_sum[m_tiles][2];  // row_max: see Shape::keeps_offsets; row_sum: this lane's part only
  LanePlaces<Shape::row_bytes> places;

  __device__ __forceinline__ explicit Flash2Warp(int lane) : places(lane) {
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt) {
      row_max[mt][0] = row_max[mt][1] = Shape::keeps_offsets ? least_offset : minus_infinity();
      row_sum[mt][0] = row_sum[mt][1] = 0.f;
#pragma unroll
      for (int n = 0; n < o_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) o[mt][n][i] = 0.f;
    }
  }

  /// Updates the row maxima from S and rescales l and O to them. `offset` becomes max * scale, which exp2 subtracts. Returns
  /// whether the lane holds a visible score of the tile.
  template <class Recorder>
  __device__ __forceinline__ bool maxima(float (&offset)[m_tiles][2], float scale_log2, const Recorder& probe, int tile) {
    float alpha[m_tiles][2];
    bool moved = false, sees = false;
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float x = larger(s[mt][0][half * 2], s[mt][0][half * 2 + 1]);
#pragma unroll
        for (int n = 1; n < s_tiles; ++n) x = larger(x, larger(s[mt][n][half * 2], s[mt][n][half * 2 + 1]));
        if constexpr (Shape::skips_hidden) sees |= !(x == minus_infinity());
        const float before = row_max[mt][half];
        float now = quad_max(x);
        if constexpr (Shape::keeps_offsets) {
          now = fmaxf(before, now * scale_log2);
          offset[mt][half] = now;
          alpha[mt][half] = exp2_fast(before - now);
        } else {
          now = fmaxf(before, now);
          // A row that has seen no key has maximum -inf. Any finite offset makes its exponentials 0, where -inf would give NaN.
          const float finite = Shape::rows_may_be_hidden && now == minus_infinity() ? 0.f : now;
          offset[mt][half] = finite * scale_log2;
          alpha[mt][half] = exp2_fast(before * scale_log2 - offset[mt][half]);
          probe.statistics(tile, mt * 16 + half * 8, now * scale_log2 * ln_2, alpha[mt][half]);
        }
        row_max[mt][half] = now;
        moved |= now != before;
      }
    // In a long row the maximum soon stops changing. Then alpha is 1 and the rescale can be skipped.
    if (__any_sync(0xffffffffu, moved)) {
#pragma unroll
      for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          row_sum[mt][half] *= alpha[mt][half];
#pragma unroll
          for (int n = 0; n < o_tiles; ++n) {
            o[mt][n][half * 2] *= alpha[mt][half];
            o[mt][n][half * 2 + 1] *= alpha[mt][half];
          }
        }
    }
    return sees;
  }

  /// Returns the larger score. Where tiles are skipped a NaN counts as visible, so that it reaches O.
  static __device__ __forceinline__ float larger(float x, float y) {
    if constexpr (!Shape::skips_hidden) return fmaxf(x, y);
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(y));
    return x;
  }

  /// Computes register `index` (0 … 4 m_tiles - 1) of a slice of P = exp2(S scale - offset) and adds it to the row sums.
  __device__ __forceinline__ void exponentials(std::uint32_t (&p)[m_tiles][4], int slice, int index,
                                               const float (&offset)[m_tiles][2], float scale_log2) {
    const int mt = index / 4, part = index % 4, half = part & 1;
    const float(&from)[4] = s[mt][slice * 2 + part / 2];
    const float x = exp2_fast(from[half * 2] * scale_log2 - offset[mt][half]);
    const float y = exp2_fast(from[half * 2 + 1] * scale_log2 - offset[mt][half]);
    row_sum[mt][half] += x + y;
    p[mt][part] = pack<T>(x, y);
  }

  /// Computes O += P V, slice by slice. Each V fragment serves all rows of the warp, and the next slice's fragment replaces it
  /// right after its last product. The exponentials of the next slice are interleaved with the products of this one.
  __device__ __forceinline__ void accumulate(std::uint32_t v_shared, const float (&offset)[m_tiles][2], float scale_log2) {
    constexpr int slices = Shape::bc / 16, groups = o_tiles / 2, parts = 4 * m_tiles, turns = groups * m_tiles;
    std::uint32_t p[2][m_tiles][4], b[groups][4];
    auto fetch = [&](int slice, int g) {
      load_matrices_transposed(b[g], places.stepped(places.rows_first, g, v_shared + slice * 16 * Shape::row_bytes));
    };
#pragma unroll
    for (int i = 0; i < parts; ++i) exponentials(p[0], 0, i, offset, scale_log2);
#pragma unroll
    for (int g = 0; g < groups; ++g) fetch(0, g);
#pragma unroll
    for (int slice = 0; slice < slices; ++slice)
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
        const int mt = turn / groups, g = turn % groups;
        mma<T>(o[mt][g * 2], p[slice & 1][mt], b[g][0], b[g][1], o[mt][g * 2]);
        mma<T>(o[mt][g * 2 + 1], p[slice & 1][mt], b[g][2], b[g][3], o[mt][g * 2 + 1]);
        if (slice + 1 == slices) continue;
        if (mt == m_tiles - 1) fetch(slice + 1, g);
#pragma unroll
        for (int i = turn * parts / turns; i < (turn + 1) * parts / turns; ++i)
          exponentials(p[(slice + 1) & 1], slice + 1, i, offset, scale_log2);
      }
  }

  /// Writes O / l over this warp's rows of the Q tile, which no other warp reads, and the log-sum-exp to `lse_shared`.
  __device__ __forceinline__ void finish(char* own_rows, float* lse_shared, float scale_log2, int lane) {
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float sum = quad_sum(row_sum[mt][half]);
        const float inverse = sum == 0.f ? 0.f : 1.f / sum;
        const int row = mt * 16 + half * 8 + lane / 4;
        const float highest = Shape::keeps_offsets ? row_max[mt][half] : row_max[mt][half] * scale_log2;
        if ((lane & 3) == 0) lse_shared[row] = sum == 0.f ? minus_infinity() : (highest + log2f(sum)) * ln_2;
#pragma unroll
        for (int n = 0; n < o_tiles; ++n)
          *reinterpret_cast<std::uint32_t*>(own_rows + swizzled<Shape::row_bytes>(row, n) + (lane & 3) * 4) =
              pack<T>(o[mt][n][half * 2] * inverse, o[mt][n][half * 2 + 1] * inverse);
      }
  }
};

/// The query tile and the head that a block owns.
template <class Shape>
struct Flash2Place {
  int first_row, head, batch;

  __device__ __forceinline__ explicit Flash2Place(int heads)
      : first_row(blockIdx.x * Shape::br), head(blockIdx.y), batch(blockIdx.z) {
    if constexpr (Shape::grouped) order(heads);
  }

  /// Reads the block's indices from the hardware again at the end of the kernel, so that no register holds them through the loop.
  static __device__ __forceinline__ Flash2Place again(int heads) {
    Flash2Place place(heads);
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(place.first_row));
    asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(place.head));
    asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(place.batch));
    place.first_row *= Shape::br;
    if constexpr (Shape::grouped) place.order(heads);
    return place;
  }
  /// Turns the indices of a grid [planes together, tiles, sets] into row, head and batch.
  __device__ __forceinline__ void order(int heads) {
    const int plane = batch * gridDim.x + first_row / Shape::br;
    first_row = (gridDim.y - 1 - head) * Shape::br;
    head = plane % heads;
    batch = plane / heads;
  }
  /// Returns the index of the tile's first row among all rows of Q, O and L.
  __device__ __forceinline__ std::int64_t row(const Flash2Arguments& arguments) const {
    return (static_cast<std::int64_t>(batch) * arguments.heads + head) * arguments.seq_q + first_row;
  }
  /// Returns the index of the head's first key row among all rows of K and V.
  __device__ __forceinline__ std::int64_t kv_row(const Flash2Arguments& arguments) const {
    return (static_cast<std::int64_t>(batch) * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads)) *
           arguments.seq_kv;
  }
};

/// Writes O = 0 and L = -inf for a query tile that sees no key. Loads nothing.
template <class Shape>
__device__ __forceinline__ void write_empty(const Flash2Arguments& arguments, const Flash2Place<Shape>& place, int rows,
                                            int thread) {
  uint4* const o = reinterpret_cast<uint4*>(static_cast<char*>(arguments.o) + place.row(arguments) * Shape::row_bytes);
  for (int i = thread; i < rows * Shape::row_chunks; i += Shape::threads) o[i] = make_uint4(0, 0, 0, 0);
  float* const lse = arguments.lse + place.row(arguments);
  for_block_by_sector<Shape::threads>(lse, rows, thread, [&](int i) { lse[i] = minus_infinity(); });
}

}  // namespace tilescope::device
