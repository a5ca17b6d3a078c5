// Device code of flex: flash2's warps over the key tiles that block lists name, with changed scores. Compiled at run time by NVRTC.
//
//   The text of a request defines FlexScore and FlexMask (sim/masks/kernel_source.h) and follows this file. A part of an expression
//   is computed where it changes, and no oftener:
//
//     the block        uniforms   shared, once a block, by thread 0
//     the query        rows       shared, once a block, a thread a query row
//     the key          columns    shared, in the ring beside K and V, a thread a key
//     the element      registers, on S
//
//   Order of the tiles: partial ones first, then full ones. Only partial tiles are masked. Tables are read past the L1, so the
//   bytes of a request follow from its expressions.
#pragma once

#include "kernels/flash2/flash2_warp.cuh"
#include "kernels/flex/flex_arguments.h"

namespace tilescope::device {

/// What an expression knows of its block.
struct FlexPlace {
  const FlexArguments& arguments;
  int b, h;
  const std::uint32_t* uniforms;
};

template <bool on>
struct Flag {
  static constexpr bool value = on;
};

struct NothingRecorded {
  __device__ __forceinline__ void statistics(int, int, float, float) const {}
};

/// The shape of flash2 with FlexScore and FlexMask.
template <class Element, int dim, class ScoreChange, class Visible, int key_tiles_of_block, bool is_ragged>
struct FlexShape : Flash2Shape<Element, dim, 128, dim == 64 ? 128 : 64, 4, 2, 2, false, KeyTileOrder::ascending> {
  using Base = Flash2Shape<Element, dim, 128, dim == 64 ? 128 : 64, 4, 2, 2, false, KeyTileOrder::ascending>;
  using Score = ScoreChange;
  using Mask = Visible;
  static constexpr bool rows_may_be_hidden = Score::present || Mask::present;
  static constexpr bool ragged = is_ragged;  // the last key tile is not whole
  static constexpr int tiles_of_block = key_tiles_of_block;
  static constexpr int uniforms = Score::uniforms + Mask::uniforms, rows = Score::rows + Mask::rows;
  static constexpr int columns = Score::columns + Mask::columns;
  // Words of shared memory behind flash2's: counts, uniforms, rows, columns, and the first key of each tile to visit.
  static constexpr int uniforms_at = 4, rows_at = (uniforms_at + uniforms + 3) / 4 * 4, columns_at = rows_at + rows * Base::br;
  static constexpr int visits_at = columns_at + Base::stages * columns * Base::bc;
  static constexpr int fixed_bytes = Base::shared_bytes + 4 * visits_at;
};

/// Loads a list's or a table's word past the L1: so the bytes are the same whatever ran on the SM before.
__device__ __forceinline__ std::uint32_t load_past_l1(const void* address) {
  std::uint32_t value;
  asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(value) : "l"(address));
  return value;
}

// What generated expressions call, beside cuda_prelude().

/// Returns a table's word; 0 where the element is beyond the end of the queries or keys.
__device__ __forceinline__ std::uint32_t expr_word(const void* table, int index, bool inside) {
  return inside ? load_past_l1(static_cast<const std::uint32_t*>(table) + index) : 0u;
}
/// Returns floor(a / d), with the magic of d from the host.
__device__ __forceinline__ int expr_divide_by(int a, unsigned magic, int shift) {
  const int sign = a >> 31;
  return static_cast<int>(static_cast<unsigned long long>(static_cast<unsigned>(a ^ sign)) * magic >> shift) ^ sign;
}
__device__ __forceinline__ int expr_modulo_by(int a, unsigned magic, int shift, int divisor) {
  return a - expr_divide_by(a, magic, shift) * divisor;
}
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Returns 1 / (1 + 2^x), from which tanh and the sigmoid follow.
__device__ __forceinline__ float expr_reciprocal_exp2(float x) {
  return reciprocal(1.f + exp2_fast(x));
}
/// Replaces four x by 1 / (1 + 2^x) with one reciprocal for all: the special-function unit, which also has the softmax's
/// exponentials, is what limits such a kernel. Exponents are cut at 30, where tanh is 1 to the last place, so that the product of
/// four is finite. NaN stays NaN, for all four: they are scores of one row, which a NaN fills in any case.
__device__ __forceinline__ void expr_reciprocals_exp2(float (&x)[4]) {
#pragma unroll
  for (float& value : x) {
    float cut;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(cut) : "f"(value), "f"(30.f));
    value = 1.f + exp2_fast(cut);
  }
  const float first = x[0] * x[1], second = x[2] * x[3], of_all = reciprocal(first * second);
  const float of_first = of_all * second, of_second = of_all * first, x0 = x[0], x2 = x[2];
  x[0] = of_first * x[1];
  x[1] = of_first * x0;
  x[2] = of_second * x[3];
  x[3] = of_second * x2;
}
__device__ __forceinline__ float expr_tanh(float x) {
  return 1.f - 2.f * expr_reciprocal_exp2(x * (2.f * log2_e));
}
// Functions of their own: their code for large arguments, inlined for each score, would take NVRTC minutes.
__device__ __noinline__ float expr_sin(float x) {
  return sinf(x);
}
__device__ __noinline__ float expr_cos(float x) {
  return cosf(x);
}
__device__ __forceinline__ float expr_sigmoid(float x) {
  return expr_reciprocal_exp2(-x * log2_e);
}

template <class Shape>
__device__ __forceinline__ void flex_attention(const FlexArguments& arguments) {
  using T = typename Shape::T;
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  constexpr bool has_lists = Mask::present;
  constexpr int bc = Shape::bc;
  extern __shared__ __align__(128) char shared[];
  char* const q_tile = shared;
  char* const k_ring = shared + Shape::q_bytes;
  char* const v_ring = k_ring + Shape::stages * Shape::kv_bytes;
  float* const lse_tile = reinterpret_cast<float*>(v_ring + Shape::stages * Shape::kv_bytes);
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(shared + Shape::Base::shared_bytes);
  int* const visits = reinterpret_cast<int*>(words + Shape::visits_at);

  const int thread = threadIdx.x, lane = __shfl_sync(0xffffffffu, thread & 31, thread & 31),
            warp = __shfl_sync(0xffffffffu, thread >> 5, 0);
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const auto query_tile = [&] {
    return static_cast<int>(arguments.last_query_tile_first ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
  };
  const int head = blockIdx.y, batch = blockIdx.z;
  const int first_row = query_tile() * Shape::br, rows = min(Shape::br, seq_q - first_row);
  const std::int64_t kv_row =
      (static_cast<std::int64_t>(batch) * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads)) * seq_kv;
  const char* const k_plane = static_cast<const char*>(arguments.k) + kv_row * Shape::row_bytes;
  const char* const v_plane = static_cast<const char*>(arguments.v) + kv_row * Shape::row_bytes;
  const int warp_row = warp * Shape::rows_per_warp;
  const FlexPlace place{arguments, batch, head, words + Shape::uniforms_at};

  // The lists, as the first key of each tile to visit: partial tiles, then full ones.
  int tiles, partial_tiles = 0;
  if constexpr (Shape::uniforms > 0)
    if (thread == 32) {
      Score::set_uniforms(place, words + Shape::uniforms_at);
      Mask::set_uniforms(place, words + Shape::uniforms_at + Score::uniforms);
    }
  if constexpr (has_lists) {
    const std::int64_t list_row = (static_cast<std::int64_t>(batch) * arguments.list_planes_of_batch +
                                   static_cast<std::int64_t>(head) * arguments.list_planes_of_head) *
                                      arguments.list_rows +
                                  query_tile() / arguments.query_tiles_of_block;
    if (thread == 0) {
      const std::uint32_t partial = load_past_l1(arguments.partial_count + list_row),
                          full = load_past_l1(arguments.full_count + list_row);
      words[0] = partial;
      words[1] = full;
    }
    __syncthreads();
    const int partial_blocks = words[0], full_blocks = words[1];
    if (partial_blocks + full_blocks == 0) {
      uint4* const o = reinterpret_cast<uint4*>(static_cast<char*>(arguments.o) +
                                                ((static_cast<std::int64_t>(batch) * arguments.heads + head) * seq_q + first_row) *
                                                    Shape::row_bytes);
      for (int i = thread; i < rows * Shape::row_chunks; i += Shape::threads) o[i] = make_uint4(0, 0, 0, 0);
      float* const lse = arguments.lse + (static_cast<std::int64_t>(batch) * arguments.heads + head) * seq_q + first_row;
      for_block_by_sector<Shape::threads>(lse, rows, thread, [&](int i) { lse[i] = minus_infinity(); });
      return;
    }
    // In the order of the visits, of which a descending one takes each list from its end.
    const auto expand = [&](const std::int32_t* list, int count, int at) {
      for_each_by_sector<Shape::threads, 4>(list, count, thread, [&](int i) {
        const int first = static_cast<int>(load_past_l1(list + i)) * Shape::tiles_of_block;
#pragma unroll
        for (int t = 0; t < Shape::tiles_of_block; ++t) {
          const int place = i * Shape::tiles_of_block + t;
          visits[at + (arguments.keys_descending ? count * Shape::tiles_of_block - 1 - place : place)] = (first + t) * bc;
        }
      });
    };
    partial_tiles = partial_blocks * Shape::tiles_of_block;
    tiles = partial_tiles + full_blocks * Shape::tiles_of_block;
    expand(arguments.partial + list_row * arguments.list_columns, partial_blocks, 0);
    expand(arguments.full + list_row * arguments.list_columns, full_blocks, partial_tiles);
    if constexpr (Mask::rows > 0)
      if (thread < rows && partial_blocks > 0)
        Mask::set_row(place, first_row + thread, words + Shape::rows_at + Score::rows * Shape::br + thread, Shape::br);
  } else {
    tiles = (seq_kv + bc - 1) / bc;
    if constexpr (Shape::uniforms > 0) __syncthreads();
  }
  if constexpr (Score::rows > 0)
    if (thread < rows) Score::set_row(place, first_row + thread, words + Shape::rows_at + thread, Shape::br);

  const std::uint32_t full = shared_address(lse_tile + Shape::br), empty = full + Shape::stages * 8;
  if (thread == 0) {
#pragma unroll
    for (int i = 0; i < Shape::stages; ++i) {
      barrier_start(full + i * 8, Shape::threads * (Shape::columns > 0 ? 2 : 1));  // the copies, and the columns
      barrier_start(empty + i * 8, Shape::threads);
    }
  }
  char* const own_rows = q_tile + warp_row * Shape::row_bytes;
  const std::int64_t q_row = (static_cast<std::int64_t>(batch) * arguments.heads + head) * seq_q + first_row;
  copy_rows<Shape::row_bytes, Shape::rows_per_warp, false>(
      shared_address(own_rows), static_cast<const char*>(arguments.q) + (q_row + warp_row) * Shape::row_bytes, rows - warp_row,
      lane);
  copy_async_commit();
  __syncthreads();  // visits are written, the barriers initialised

  if constexpr (has_lists && Shape::tiles_of_block > 1)
    if ((seq_kv + bc - 1) / bc % Shape::tiles_of_block != 0) {
      // The last block of the keys has fewer tiles: those beyond the end are taken out.
      if (thread == 0) {
        int kept = 0, partial = 0;
        for (int j = 0; j < tiles; ++j) {
          if (visits[j] >= seq_kv) continue;
          partial += j < partial_tiles;
          visits[kept++] = visits[j];
        }
        words[0] = partial;
        words[1] = kept;
      }
      __syncthreads();
      partial_tiles = words[0];
      tiles = words[1];
    }
  /// Returns the first key of the j-th tile to visit.
  const auto key_of = [&](int j) {
    if constexpr (has_lists) return visits[j];
    return (arguments.keys_descending ? tiles - 1 - j : j) * bc;
  };

  constexpr int copied_rows = bc / Shape::warps, copied_bytes = copied_rows * Shape::row_bytes;
  auto copy_part = [&](auto whole, const char* plane_start, char* ring_start, int key, int j) {
    const std::uint32_t to = shared_address(ring_start) + (j % Shape::stages) * Shape::kv_bytes + warp * copied_bytes;
    copy_rows<Shape::row_bytes, copied_rows, decltype(whole)::value || !Shape::ragged>(
        to, plane_start + static_cast<std::int64_t>(key) * Shape::row_bytes + warp * copied_bytes,
        seq_kv - key - warp * copied_rows, lane);
  };
  // The values that change with the key alone: read when the tile's K is, stored when its V is.
  struct ColumnsHeld {
    typename Score::ColumnWords score;
    typename Mask::ColumnWords mask;
  };
  std::uint32_t* const column_ring = words + Shape::columns_at;
  auto read_columns = [&](ColumnsHeld& held, int key, int j) {
    if (thread < bc && (!Shape::ragged || key + thread < seq_kv)) {
      if constexpr (Score::columns > 0) Score::read_columns(place, key + thread, held.score);
      if constexpr (Mask::columns > 0)
        if (j < partial_tiles) Mask::read_columns(place, key + thread, held.mask);
    }
  };
  auto store_columns = [&](const ColumnsHeld& held, int j) {
    if constexpr (Shape::columns > 0) {
      std::uint32_t* const to = column_ring + (j % Shape::stages) * Shape::columns * bc + thread;
      if (thread < bc) {
#pragma unroll
        for (int i = 0; i < Score::columns; ++i) to[i * bc] = held.score.value[i];
#pragma unroll
        for (int i = 0; i < Mask::columns; ++i) to[(Score::columns + i) * bc] = held.mask.value[i];
      }
      barrier_arrive(full + (j % Shape::stages) * 8);
    }
  };

  {
    ColumnsHeld held{};
    const int key = key_of(0);
    read_columns(held, key, 0);
    copy_part(Flag<false>(), k_plane, k_ring, key, 0);
    copy_part(Flag<false>(), v_plane, v_ring, key, 0);
    barrier_arrive_after_copies(full);
    store_columns(held, 0);
  }
  copy_async_commit();

  Flash2Warp<Shape> work(lane);
  copy_async_wait<1>();
  __syncwarp();

  const float scale_log2 = Score::present ? log2_e : arguments.scale * log2_e;
  const int lane_row = first_row + warp_row + lane / 4, lane_column = 2 * (lane & 3);
  /// Calls visit(n, row, columns) for each pair of accumulators n, n + 1, whose columns are alike for all rows of this lane.
  const auto for_each_score = [&](auto rule, int key, const std::uint32_t* rows_of, const std::uint32_t* columns_of, auto visit) {
    using Rule = decltype(rule);
    typename Rule::Row row[Shape::m_tiles][2];
#pragma unroll
    for (int mt = 0; mt < Shape::m_tiles; ++mt)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        row[mt][half] = Rule::row(place, lane_row + mt * 16 + half * 8, key + lane_column,
                                  rows_of + warp_row + mt * 16 + half * 8 + lane / 4, Shape::br);
#pragma unroll
    for (int n = 0; n < bc / 8; n += 2) {
      typename Rule::Column columns[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = n * 8 + i / 2 * 8 + i % 2;
        columns[i] = Rule::column(place, key + lane_column, at, columns_of + lane_column + at, bc);
      }
#pragma unroll
      for (int mt = 0; mt < Shape::m_tiles; ++mt)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float* const s[4] = {&work.s[mt][n][half * 2], &work.s[mt][n][half * 2 + 1], &work.s[mt][n + 1][half * 2],
                               &work.s[mt][n + 1][half * 2 + 1]};
          visit(s, row[mt][half], columns);
        }
    }
  };
  const auto change = [&](float* const(&s)[4], const auto& row, const auto& columns) {
    float r[4] = {0.f, 0.f, 0.f, 0.f};
    if constexpr (Score::has_reciprocal) {
#pragma unroll
      for (int i = 0; i < 4; ++i) r[i] = Score::exponent(place, row, columns[i], *s[i]);
      expr_reciprocals_exp2(r);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) *s[i] = Score::value(place, row, columns[i], *s[i], r[i]);
  };

  auto iterate = [&](auto masked, auto whole, int j) {
    const int stage = j % Shape::stages;
    const bool more = decltype(whole)::value || j + 1 < tiles;
    float offset[Shape::m_tiles][2];
    ColumnsHeld held;
    barrier_wait(full + stage * 8, (j / Shape::stages) & 1);
    multiply_transposed<T, Shape::row_bytes>(work.s, work.places, shared_address(own_rows),
                                             shared_address(k_ring) + stage * Shape::kv_bytes);
    if (more) {
      barrier_wait(empty + ((j + 1) % Shape::stages) * 8, (((j + 1) / Shape::stages) & 1) ^ 1);
      copy_part(whole, k_plane, k_ring, key_of(j + 1), j + 1);
      if constexpr (Shape::columns > 0) read_columns(held, key_of(j + 1), j + 1);
    }
    const std::uint32_t* const columns_of = column_ring + stage * Shape::columns * bc;
    if constexpr (Score::present) for_each_score(Score(), key_of(j), words + Shape::rows_at, columns_of, change);
    bool sees = true;
    if constexpr (decltype(masked)::value) {
      bool some = false;
      for_each_score(Mask(), key_of(j), words + Shape::rows_at + Score::rows * Shape::br, columns_of + Score::columns * bc,
                     [&](float* const(&s)[4], const auto& row, const auto& columns) {
#pragma unroll
                       for (int i = 0; i < 4; ++i) {
                         const bool visible = Mask::value(place, row, columns[i], 0.f, 0.f);
                         some = some || visible;
                         if (!visible) *s[i] = minus_infinity();
                       }
                     });
      // A warp none of whose rows sees a key of the tile is done with it. Measured: 6 % less time, but 8 % more at D 64 where the
      // mask has columns in shared memory.
      if constexpr (Mask::columns == 0 || Shape::d == 128) sees = __any_sync(0xffffffffu, some);
    }
    if constexpr (Shape::ragged && !decltype(whole)::value)
      if (const int keys = seq_kv - key_of(j); keys < bc) mask_scores<false>(work.s, keys, lane);
    if (sees) work.maxima(offset, scale_log2, NothingRecorded(), j);
    if (more) {
      copy_part(whole, v_plane, v_ring, key_of(j + 1), j + 1);
      barrier_arrive_after_copies(full + ((j + 1) % Shape::stages) * 8);
      store_columns(held, j + 1);
    }
    if (sees) work.accumulate(shared_address(v_ring) + stage * Shape::kv_bytes, offset, scale_log2);
    __syncwarp();  // reconverge: in the end no lane may still read Q, because finish() overwrites its rows with O
    barrier_arrive(empty + stage * 8);
  };

  int j = 0;
  if constexpr (has_lists)
    for (; j < partial_tiles; ++j) iterate(Flag<true>(), Flag<false>(), j);
  if (Shape::ragged && arguments.keys_descending && j < tiles) iterate(Flag<false>(), Flag<false>(), j++);
  // The last tile in ascending order can be ragged: the last but one must not copy it as if it were whole.
  const int whole_tiles = tiles - (Shape::ragged && !arguments.keys_descending ? 2 : 1);
  for (; j < whole_tiles; ++j) iterate(Flag<false>(), Flag<true>(), j);
  for (; j < tiles; ++j) iterate(Flag<false>(), Flag<false>(), j);

  work.finish(own_rows, lse_tile + warp_row, scale_log2, lane);
  __syncthreads();
  // The block's place is read from the hardware again, so that no register holds it through the loop.
  auto end = Flash2Place<Shape>::again(arguments.heads);
  if (arguments.last_query_tile_first) end.first_row = (gridDim.x - 1) * Shape::br - end.first_row;
  const int left = min(Shape::br, seq_q - end.first_row);
  const std::int64_t o_row = (static_cast<std::int64_t>(end.batch) * arguments.heads + end.head) * seq_q + end.first_row;
  store_rows<Shape::row_bytes, Shape::rows_per_warp>(static_cast<char*>(arguments.o) + (o_row + warp_row) * Shape::row_bytes,
                                                     own_rows, left - warp_row, lane);
  float* const lse = arguments.lse + o_row;
  for_block_by_sector<Shape::threads>(lse, left, threadIdx.x, [&](int i) { lse[i] = lse_tile[i]; });
}

}  // namespace tilescope::device
