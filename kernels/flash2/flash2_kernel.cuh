// Device code of flash2: one block a query tile. K and V pass through a ring in shared memory; everything else stays in registers.
//
//   Warp w owns rows_per_warp query rows for the whole kernel, so the warps exchange no data:
//
//     shared     Q [Br,d]   K ring [stages][Bc,d]   V ring [stages][Bc,d]      all swizzled (tensor_core.cuh)
//     registers  S [rows,Bc] fp32 ── row max, exp2 ──► P 16-bit, 16 keys at a time ──► O += P V, O [rows,d] fp32
//
//   One iteration: S = Q K^T, row maxima, then O += P V in slices of 16 keys. The exponentials of the next slice are interleaved
//   with the products of the current one, so that the special-function unit and the tensor cores work at the same time.
#pragma once

#include <type_traits>

#include "kernels/common/probe.cuh"
#include "kernels/common/warp_tiles.cuh"
#include "kernels/flash2/flash2_variants.h"

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

/// Order in which blocks get their query tiles. longest_first takes the last tile of all planes (batch x heads) first, because
/// under a causal mask it sees the most keys. Its grid is [planes together, tiles, sets]: K and V of the planes of a set fit the
/// L2.
enum class QueryTileOrder { launch, longest_first };

/// Order in which a block visits its key tiles. Descending starts at the diagonal of a causal mask, as FlashAttention-2 does.
enum class KeyTileOrder { ascending, descending };

/// Compile-time parameters of one build of the kernel.
template <class Element, int dim, int block_rows, int block_keys, int warp_count, int ring, int blocks, bool is_causal,
          KeyTileOrder tile_order, QueryTileOrder query_order = QueryTileOrder::launch>
struct Flash2Shape {
  using T = Element;
  static constexpr int d = dim, br = block_rows, bc = block_keys, warps = warp_count, stages = ring, min_blocks = blocks;
  static constexpr bool causal = is_causal;
  static constexpr bool descending = tile_order == KeyTileOrder::descending;
  static constexpr bool longest_first = query_order == QueryTileOrder::longest_first;
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

/// One warp's rows: what it keeps in registers, and the steps of an iteration.
template <class Shape>
struct Flash2Warp {
  using T = typename Shape::T;
  static constexpr int m_tiles = Shape::m_tiles, s_tiles = Shape::bc / 8, o_tiles = Shape::d / 8;

  float o[m_tiles][o_tiles][4];
  float s[m_tiles][s_tiles][4];
  float row_max[m_tiles][2], row_sum[m_tiles][2];  // row_sum: this lane's part only
  LanePlaces<Shape::row_bytes> places;

  __device__ __forceinline__ explicit Flash2Warp(int lane) : places(lane) {
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt) {
      row_max[mt][0] = row_max[mt][1] = minus_infinity();
      row_sum[mt][0] = row_sum[mt][1] = 0.f;
#pragma unroll
      for (int n = 0; n < o_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) o[mt][n][i] = 0.f;
    }
  }

  /// Updates the row maxima from S and rescales l and O to them. `offset` becomes max * scale, which exp2 subtracts.
  template <class Recorder>
  __device__ __forceinline__ void maxima(float (&offset)[m_tiles][2], float scale_log2, const Recorder& probe, int tile) {
    float alpha[m_tiles][2];
    bool moved = false;
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float x = fmaxf(s[mt][0][half * 2], s[mt][0][half * 2 + 1]);
#pragma unroll
        for (int n = 1; n < s_tiles; ++n) x = fmaxf(x, fmaxf(s[mt][n][half * 2], s[mt][n][half * 2 + 1]));
        const float before = row_max[mt][half], now = fmaxf(before, quad_max(x));
        // A row that has seen no key has maximum -inf. Any finite offset makes its exponentials 0, where -inf would give NaN.
        const float finite = Shape::causal && now == minus_infinity() ? 0.f : now;
        row_max[mt][half] = now;
        offset[mt][half] = finite * scale_log2;
        alpha[mt][half] = exp2_fast(before * scale_log2 - offset[mt][half]);
        probe.statistics(tile, mt * 16 + half * 8, now * scale_log2 * ln_2, alpha[mt][half]);
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
        if ((lane & 3) == 0) lse_shared[row] = sum == 0.f ? minus_infinity() : (row_max[mt][half] * scale_log2 + log2f(sum)) * ln_2;
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
    if constexpr (Shape::longest_first) order(heads);
  }

  /// Reads the block's indices from the hardware again at the end of the kernel, so that no register holds them through the loop.
  static __device__ __forceinline__ Flash2Place again(int heads) {
    Flash2Place place(heads);
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(place.first_row));
    asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(place.head));
    asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(place.batch));
    place.first_row *= Shape::br;
    if constexpr (Shape::longest_first) place.order(heads);
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

template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads, Shape::min_blocks) void flash2_kernel(
    const typename Recorder::template Launch<Flash2Arguments> arguments) {
  using T = typename Shape::T;
  extern __shared__ __align__(128) char shared[];
  char* const q_tile = shared;
  char* const k_ring = shared + Shape::q_bytes;
  char* const v_ring = k_ring + Shape::stages * Shape::kv_bytes;
  float* const lse_tile = reinterpret_cast<float*>(v_ring + Shape::stages * Shape::kv_bytes);

  // The shuffles tell the compiler that `warp` is uniform across the warp, and stop it from recomputing `lane` at every use.
  const int thread = threadIdx.x, lane = __shfl_sync(0xffffffffu, thread & 31, thread & 31),
            warp = __shfl_sync(0xffffffffu, thread >> 5, 0);
  const Recorder probe(arguments, warp * Shape::rows_per_warp + lane / 4, warp, lane);
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const Flash2Place<Shape> place(arguments.heads);
  const int first_row = place.first_row, rows = min(Shape::br, seq_q - first_row);
  const char* const k_plane = static_cast<const char*>(arguments.k) + place.kv_row(arguments) * Shape::row_bytes;
  const char* const v_plane = static_cast<const char*>(arguments.v) + place.kv_row(arguments) * Shape::row_bytes;
  const float scale_log2 = arguments.scale * log2_e;

  const int warp_row = warp * Shape::rows_per_warp;
  // Keys that the warp's first row sees; each further row sees one more.
  const int first_visible = first_row + warp_row + 1 + seq_kv - seq_q;
  auto tiles_for = [&](int keys) { return max(0, min(keys, seq_kv) + Shape::bc - 1) / Shape::bc; };
  const int tiles = Shape::causal ? tiles_for(first_row + rows + seq_kv - seq_q) : tiles_for(seq_kv);
  // The number of tiles this warp works on, and the first tile it must mask.
  const int warp_tiles = Shape::causal ? min(tiles, tiles_for(first_visible + Shape::rows_per_warp - 1)) : tiles;
  const int first_masked = (Shape::causal ? max(0, min(first_visible, seq_kv)) : seq_kv) / Shape::bc;

  if (Shape::causal && tiles == 0) {
    write_empty<Shape>(arguments, place, rows, thread);
    return probe.end();
  }
  probe.mark(0);

  // full[stage] completes when all copies of the tile have landed, empty[stage] when every thread has finished reading the tile.
  // One arrival a warp would do for `empty`, but racecheck does not follow the order from __syncwarp to another lane's arrival.
  const std::uint32_t full = shared_address(lse_tile + Shape::br), empty = full + Shape::stages * 8;
  if (thread == 0) {
#pragma unroll
    for (int i = 0; i < Shape::stages; ++i) {
      barrier_start(full + i * 8, Shape::threads);
      barrier_start(empty + i * 8, Shape::threads);
    }
  }
  // Tiles are numbered in visiting order: tile j is j steps from the first one. Only the tile of the last keys can be ragged.
  const int first_key = Shape::descending ? (tiles - 1) * Shape::bc : 0;
  const int keys_left = seq_kv - first_key;
  const std::int64_t first_byte = static_cast<std::int64_t>(first_key) * Shape::row_bytes;
  constexpr int copied_rows = Shape::bc / Shape::warps, copied_bytes = copied_rows * Shape::row_bytes;
  auto copy_part = [&](auto whole, const char* plane_start, char* ring_start, int j) {
    const std::int64_t from = first_byte + static_cast<std::int64_t>(j) * Shape::step_bytes + warp * copied_bytes;
    const std::uint32_t to = shared_address(ring_start) + (j % Shape::stages) * Shape::kv_bytes + warp * copied_bytes;
    copy_rows<Shape::row_bytes, copied_rows, decltype(whole)::value>(to, plane_start + from,
                                                                     keys_left - j * Shape::key_step - warp * copied_rows, lane);
  };
  using Whole = std::true_type;
  using Ragged = std::false_type;

  char* const own_rows = q_tile + warp_row * Shape::row_bytes;
  const char* const q = static_cast<const char*>(arguments.q) + (place.row(arguments) + warp_row) * Shape::row_bytes;
  copy_rows<Shape::row_bytes, Shape::rows_per_warp, false>(shared_address(own_rows), q, rows - warp_row, lane);
  copy_async_commit();
  __syncthreads();  // the barriers are initialised
  // Without a mask there is always a tile. The test stays because it costs nothing and leaves ptxas one register more.
  if (Shape::causal || tiles > 0) {
    copy_part(Ragged(), k_plane, k_ring, 0);
    copy_part(Ragged(), v_plane, v_ring, 0);
    barrier_arrive_after_copies(full);
  }
  copy_async_commit();

  Flash2Warp<Shape> work(lane);
  copy_async_wait<1>();
  __syncwarp();

  // Prefetch of tile j + 1: the copy of K starts once S is computed, that of V once the maxima are. `whole` promises that both
  // tiles are whole and that tile j needs no mask.
  auto copy_next_k = [&](auto whole, int j) {
    if (decltype(whole)::value || j + 1 < tiles) {
      barrier_wait(empty + ((j + 1) % Shape::stages) * 8, (((j + 1) / Shape::stages) & 1) ^ 1);
      copy_part(whole, k_plane, k_ring, j + 1);
    }
  };
  auto copy_next_v = [&](auto whole, int j) {
    if (decltype(whole)::value || j + 1 < tiles) {
      copy_part(whole, v_plane, v_ring, j + 1);
      barrier_arrive_after_copies(full + ((j + 1) % Shape::stages) * 8);
    }
  };
  auto iterate = [&](auto whole, int j) {
    const int stage = j % Shape::stages;
    float offset[Shape::m_tiles][2];
    probe.tick(j, 0);
    barrier_wait(full + stage * 8, (j / Shape::stages) & 1);
    probe.tick(j, 1);
    multiply_transposed<T, Shape::row_bytes>(work.s, work.places, shared_address(own_rows),
                                             shared_address(k_ring) + stage * Shape::kv_bytes);
    probe.tick(j, 2);
    copy_next_k(whole, j);
    probe.tick(j, 3);
    if (!decltype(whole)::value && (Shape::descending ? j < tiles - first_masked : j >= first_masked))
      mask_scores<Shape::causal>(work.s, (Shape::causal ? first_visible - first_key : keys_left) - j * Shape::key_step, lane);
    work.maxima(offset, scale_log2, probe, j);
    probe.tick(j, 4);
    copy_next_v(whole, j);
    probe.tick(j, 5);
    work.accumulate(shared_address(v_ring) + stage * Shape::kv_bytes, offset, scale_log2);
    probe.tick(j, 6);
    if constexpr (Recorder::on)
#pragma unroll
      for (int mt = 0; mt < Shape::m_tiles; ++mt)
#pragma unroll
        for (int half = 0; half < 2; ++half) probe.sums(j, mt * 16 + half * 8, work.row_sum[mt][half]);
    __syncwarp();  // reconverge: in the end no lane may still read Q, because finish() overwrites its rows with O
    barrier_arrive(empty + stage * 8);
  };
  probe.mark(1);
  // A warp skips the tiles that only later warps see, but still copies its part of them for the block. Both orders repeat this
  // code, because ptxas schedules the ascending kernel differently when the loop is a shared function.
  int j = 0;
  if constexpr (Shape::descending) {
    for (; j < tiles - warp_tiles; ++j) {
      barrier_wait(full + (j % Shape::stages) * 8, (j / Shape::stages) & 1);
      copy_next_k(Ragged(), j);
      copy_next_v(Ragged(), j);
      barrier_arrive(empty + (j % Shape::stages) * 8);
    }
    const int first_whole = tiles - min(first_masked, warp_tiles);
    for (; j < first_whole; ++j) iterate(Ragged(), j);
    for (; j < tiles - 1; ++j) iterate(Whole(), j);
    for (; j < tiles; ++j) iterate(Ragged(), j);  // nothing is left to copy
  } else {
    const int whole_tiles = min(min(first_masked, warp_tiles), min(tiles, seq_kv / Shape::bc) - 1);
    for (; j < whole_tiles; ++j) iterate(Whole(), j);
    for (; j < warp_tiles; ++j) iterate(Ragged(), j);
    if constexpr (Shape::causal)
      for (; j < tiles; ++j) {
        barrier_wait(full + (j % Shape::stages) * 8, (j / Shape::stages) & 1);
        copy_next_k(Ragged(), j);
        copy_next_v(Ragged(), j);
        barrier_arrive(empty + (j % Shape::stages) * 8);
      }
  }

  probe.mark(2);
  work.finish(own_rows, lse_tile + warp_row, scale_log2, lane);
  __syncthreads();
  const auto end = Flash2Place<Shape>::again(arguments.heads);
  const int left = min(Shape::br, seq_q - end.first_row);
  char* const o = static_cast<char*>(arguments.o) + (end.row(arguments) + warp_row) * Shape::row_bytes;
  float* const lse = arguments.lse + end.row(arguments);
  store_rows<Shape::row_bytes, Shape::rows_per_warp>(o, own_rows, left - warp_row, lane);
  for_block_by_sector<Shape::threads>(lse, left, threadIdx.x, [&](int i) { lse[i] = lse_tile[i]; });
  probe.mark(3);
  probe.end();
}

template <class T, int d, bool causal, class Recorder = NoProbe, KeyTileOrder order = KeyTileOrder::ascending,
          QueryTileOrder query_order = QueryTileOrder::launch>
Flash2Variant flash2_variant() {
  using Shape = std::conditional_t<d == 64, Flash2Shape<T, 64, 128, 128, 4, 2, 2, causal, order, query_order>,
                                   Flash2Shape<T, 128, 128, 64, 4, 2, 2, causal, order, query_order>>;
  return {reinterpret_cast<const void*>(&flash2_kernel<Shape, Recorder>), Shape::br, Shape::bc, Shape::threads,
          Shape::shared_bytes};
}

}  // namespace tilescope::device
