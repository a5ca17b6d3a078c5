// Device code of the gradients of captured tables, in the blocks of flex_backward that own queries.
//
//   A warp has dS of 32 queries x 32 keys. It sums what meets at one element of the table before it writes:
//
//     reach      sums of a warp's tile          kept in shared memory            added to memory
//     head       rows, in the end all of them   a float a query, for the block   once a block
//     query      rows                           a float a query, for the block   once a block
//     key        columns                        32 floats a tile                 once a pair of tiles
//     distance   diagonals                      64 floats a tile                 once a pair of tiles
//     pair       none                           nothing                          element by element
//
//   Every sum is taken in one order: only the additions to memory come in any. Where these are to be in order too, the sums go to
//   places of their own instead (TableParts of sim/masks/table_gradient.h), and the last launch adds them.
#pragma once

#include "kernels/flex/flex_parts.cuh"
#include "kernels/flex_backward/flex_backward_arguments.h"

namespace tilescope::device {

enum class TableReach { head, query, key, distance, pair };

/// The reads of tables with a gradient, each a struct of the text (sim/masks/kernel_source.h).
template <class... Reads>
struct TableReads {};

/// Words of shared memory of a read: for the block, or for two pairs of tiles in turn.
template <class Shape, class Read>
__host__ __device__ constexpr int gathered_words() {
  if constexpr (Read::reach == TableReach::head || Read::reach == TableReach::query) return Shape::parts * Shape::br;
  if constexpr (Read::reach == TableReach::key) return 2 * Shape::query_warps * Shape::bc;
  if constexpr (Read::reach == TableReach::distance) return 2 * Shape::query_warps * Shape::bc * 2;
  return 0;
}
template <class Shape, class... Reads>
__host__ __device__ constexpr int all_gathered_words(TableReads<Reads...>) {
  return (0 + ... + gathered_words<Shape, Reads>());
}
template <class... Reads>
__host__ __device__ constexpr int count_reads(TableReads<Reads...>) {
  return sizeof...(Reads);
}
template <class... Reads>
__host__ __device__ constexpr int weighed_reads(TableReads<Reads...>) {
  return (0 + ... + (Reads::weighed ? 1 : 0));
}

/// Whether a read adds sums once a pair of tiles, or once a block.
template <class... Reads>
__host__ __device__ constexpr bool gathers_pairs(TableReads<Reads...>) {
  return (false || ... || (Reads::reach == TableReach::key || Reads::reach == TableReach::distance));
}
template <class... Reads>
__host__ __device__ constexpr bool gathers_blocks(TableReads<Reads...>) {
  return (false || ... || (Reads::reach == TableReach::head || Reads::reach == TableReach::query));
}

/// Calls visit(read, words) for each read, with its words of shared memory.
template <class Shape, class Visit, class... Reads>
__device__ __forceinline__ void for_each_read(TableReads<Reads...>, float* words, const Visit& visit) {
  ((visit(Reads{}, words), words += gathered_words<Shape, Reads>()), ...);
}

/// Sums of a warp's tile along its rows: a lane gets that of row 8 · (lane & 3) + lane / 4.
__device__ __forceinline__ float sum_along_rows(const float (&g)[2][4][4], int lane) {
  float sums[4] = {};
#pragma unroll
  for (int row = 0; row < 4; ++row)
#pragma unroll
    for (int t = 0; t < 4; ++t) sums[row] += g[row / 2][t][row % 2 * 2] + g[row / 2][t][row % 2 * 2 + 1];
  const bool second = lane & 2, odd = lane & 1;
  const float a = (second ? sums[2] : sums[0]) + __shfl_xor_sync(0xffffffffu, second ? sums[0] : sums[2], 2);
  const float b = (second ? sums[3] : sums[1]) + __shfl_xor_sync(0xffffffffu, second ? sums[1] : sums[3], 2);
  return (odd ? b : a) + __shfl_xor_sync(0xffffffffu, odd ? a : b, 1);
}

/// Sums along its columns: a lane gets that of key 8 · (lane / 8) + 2 · (lane & 3) + (lane / 4 & 1).
__device__ __forceinline__ float sum_along_columns(const float (&g)[2][4][4], int lane) {
  float sums[8];
#pragma unroll
  for (int t = 0; t < 4; ++t)
#pragma unroll
    for (int i = 0; i < 2; ++i) sums[t * 2 + i] = (g[0][t][i] + g[0][t][i + 2]) + (g[1][t][i] + g[1][t][i + 2]);
#pragma unroll
  for (int half = 4; half > 0; half /= 2) {
    const bool high = lane & (half * 4);
#pragma unroll
    for (int k = 0; k < half; ++k)
      sums[k] = (high ? sums[k + half] : sums[k]) + __shfl_xor_sync(0xffffffffu, high ? sums[k] : sums[k + half], half * 4);
  }
  return sums[0];
}

/// Sums along its diagonals. Those of query minus key = n - 32 lie at n: a lane gets n = 8 · (lane & 3) + lane / 4, and 32 more.
/// The lane of row r and column c takes over the element of row r + 2c + i of the same column, which is on its own diagonal, or on
/// the one 8 below.
__device__ __forceinline__ float2 sum_along_diagonals(const float (&g)[2][4][4], int lane) {
  float sums[8] = {};
  const int row = lane / 4, column = lane & 3;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int turned = row + 2 * column + i, from = (turned & 7) * 4 + column;
    const bool wraps = turned >= 8;
#pragma unroll
    for (int apart = -3; apart <= 3; ++apart) {
      float sum = 0.f;
#pragma unroll
      for (int t = 0; t < 4; ++t)
        if (const int of_row = apart + t; of_row >= 0 && of_row < 4) sum += g[of_row / 2][t][of_row % 2 * 2 + i];
      sum = __shfl_sync(0xffffffffu, sum, from);
      sums[apart + 4] += wraps ? 0.f : sum;
      sums[apart + 3] += wraps ? sum : 0.f;
    }
  }
  const bool second = lane & 2, odd = lane & 1;
  float2 made;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float* const of = sums + half * 4;
    const float a = (second ? of[2] : of[0]) + __shfl_xor_sync(0xffffffffu, second ? of[0] : of[2], 2);
    const float b = (second ? of[3] : of[1]) + __shfl_xor_sync(0xffffffffu, second ? of[1] : of[3], 2);
    (half == 0 ? made.x : made.y) = (odd ? b : a) + __shfl_xor_sync(0xffffffffu, odd ? a : b, 1);
  }
  return made;
}

/// Adds the elements of a warp's tile one by one. An instruction has eight neighbours along the axis that lies in a row of the
/// table: of 4 queries and 8 keys, or of 8 queries and 4 keys.
template <class Read>
__device__ __forceinline__ void add_pairs(const float (&g)[2][4][4], const FlexPlace& place, float* to, int first_query,
                                          int first_key, int lane) {
  const auto add = [&](int query, int key, float value) {
    if (query >= place.arguments.seq_q || key >= place.arguments.seq_kv) return;
    if (const int element = Read::index(place, query, key); element >= 0) atomicAdd(to + element, value);
  };
#pragma unroll
  for (int row = 0; row < 4; ++row)
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const float even = g[row / 2][t][row % 2 * 2], odd = g[row / 2][t][row % 2 * 2 + 1];
      if constexpr (Read::along_queries) {
        const int query = first_query + row * 8 + lane / 4, key = first_key + t * 8 + 2 * (lane & 3);
        add(query, key, even);
        add(query, key + 1, odd);
      } else {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int from = (half * 4 + lane / 8) * 4 + (lane & 7) / 2;
          const float of_even = __shfl_sync(0xffffffffu, even, from), of_odd = __shfl_sync(0xffffffffu, odd, from);
          add(first_query + row * 8 + half * 4 + lane / 8, first_key + t * 8 + (lane & 7), lane & 1 ? of_odd : of_even);
        }
      }
    }
}

/// What a warp's tile of 32 x 32 scores gives to a read's words, or to memory. `buffer`: that of the pair of tiles.
template <class Shape, class Read>
__device__ __forceinline__ void gather(Read, const float (&g)[2][4][4], const FlexPlace& place,
                                       const FlexBackwardArguments& arguments, float* words, int buffer, int part, int first_query,
                                       int first_key, int query_at, int key_at, int lane) {
  if constexpr (Read::reach == TableReach::pair) {
    add_pairs<Read>(g, place, arguments.tables[Read::table], first_query + query_at, first_key + key_at, lane);
  } else if constexpr (Read::reach == TableReach::key) {
    words[(buffer * Shape::query_warps + query_at / 32) * Shape::bc + key_at + lane / 8 * 8 + 2 * (lane & 3) + (lane / 4 & 1)] =
        sum_along_columns(g, lane);
  } else if constexpr (Read::reach == TableReach::distance) {
    float* const to =
        words + (buffer * Shape::query_warps + query_at / 32) * Shape::bc * 2 + key_at * 2 + 8 * (lane & 3) + lane / 4;
    const float2 sums = sum_along_diagonals(g, lane);
    to[0] = sums.x;
    to[32] = sums.y;
  } else {
    words[part * Shape::br + query_at + 8 * (lane & 3) + lane / 4] += sum_along_rows(g, lane);
  }
}

/// Calls visit(n) for the elements n < count of a run that lies at `flat` of a table and goes up, so that no two warps share a
/// sector.
template <int threads, class Visit>
__device__ __forceinline__ void for_run(int flat, int count, const Visit& visit) {
  for (int base = -(flat & 7); base < count; base += threads)
    if (const int n = base + static_cast<int>(threadIdx.x); n >= 0 && n < count) visit(n);
}

/// Leaves `count` sums of a block. Added: sum_of(x) at the element that query_of(x) and key_of(x) read, x = 0 … count - 1. In
/// order: side by side, from `place` of the parts on.
template <class Shape, class Read, class QueryOf, class KeyOf, class SumOf>
__device__ __forceinline__ void leave_sums(const FlexPlace& place, const FlexBackwardArguments& arguments, std::int64_t part_place,
                                           int count, const QueryOf& query_of, const KeyOf& key_of, const SumOf& sum_of) {
  if constexpr (Read::in_order) {
    float* const to = arguments.parts[Read::number] + part_place;
    for_run<Shape::threads>(static_cast<int>(part_place & 7), count, [&](int x) { to[x] = sum_of(x); });
  } else {
    const int lowest = Read::rises ? 0 : count - 1;
    for_run<Shape::threads>(Read::flat(place, query_of(lowest), key_of(lowest)), count, [&](int n) {
      const int x = Read::rises ? n : count - 1 - n;
      if (const int element = Read::index(place, query_of(x), key_of(x)); element >= 0)
        atomicAdd(arguments.tables[Read::table] + element, sum_of(x));
    });
  }
}

/// Leaves the sums of a pair of tiles. All threads call it, after a barrier.
template <class Shape, class Read>
__device__ __forceinline__ void leave_pair_sums(Read, const FlexPlace& place, const FlexBackwardArguments& arguments,
                                                const float* words, int buffer, int first_query, int first_key) {
  const FlexArguments& flex = place.arguments;
  const int rows = min(Shape::br, flex.seq_q - first_query), keys = min(Shape::bc, flex.seq_kv - first_key);
  const int query_tiles = (flex.seq_q + Shape::br - 1) / Shape::br, key_tiles = (flex.seq_kv + Shape::bc - 1) / Shape::bc;
  const std::int64_t tile = static_cast<std::int64_t>(place.b * flex.heads + place.h) * query_tiles + first_query / Shape::br;
  if constexpr (Read::reach == TableReach::key) {
    const float* const from = words + buffer * Shape::query_warps * Shape::bc;
    leave_sums<Shape, Read>(
        place, arguments, tile * flex.seq_kv + first_key, keys, [&](int) { return first_query; },
        [&](int x) { return first_key + x; },
        [&](int x) {
          float sum = 0.f;
#pragma unroll
          for (int warp = 0; warp < Shape::query_warps; ++warp) sum += from[warp * Shape::bc + x];
          return sum;
        });
  }
  if constexpr (Read::reach == TableReach::distance) {
    const float* const from = words + buffer * Shape::query_warps * Shape::bc * 2;
    // Query minus key, both counted in the tile, is x + 1 - keys.
    leave_sums<Shape, Read>(
        place, arguments, (tile * key_tiles + first_key / Shape::bc) * (Shape::br + Shape::bc), rows + keys - 1,
        [&](int x) { return first_query + max(x + 1 - keys, 0); }, [&](int x) { return first_key + max(keys - 1 - x, 0); },
        [&](int x) {
          float sum = 0.f;
#pragma unroll
          for (int warp = 0; warp < Shape::query_warps; ++warp)
#pragma unroll
            for (int strip = 0; strip < Shape::bc / 32; ++strip)
              if (const int at = x + 1 - keys - warp * 32 + strip * 32 + 32; at >= 0 && at < 64)
                sum += from[(warp * (Shape::bc / 32) + strip) * 64 + at];
          return sum;
        });
  }
}

/// Leaves the sums of a block. All threads call it, after a barrier.
template <class Shape, class Read>
__device__ __forceinline__ void leave_block_sums(Read, const FlexPlace& place, const FlexBackwardArguments& arguments,
                                                 const float* words, int first_query) {
  const FlexArguments& flex = place.arguments;
  const int rows = min(Shape::br, flex.seq_q - first_query);
  const std::int64_t plane = place.b * flex.heads + place.h;
  const auto sum_of = [&](int row) {
    float sum = 0.f;
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) sum += words[part * Shape::br + row];
    return sum;
  };
  if constexpr (Read::reach == TableReach::query)
    leave_sums<Shape, Read>(
        place, arguments, plane * flex.seq_q + first_query, rows, [&](int x) { return first_query + x; }, [](int) { return 0; },
        sum_of);
  if constexpr (Read::reach == TableReach::head)
    if (threadIdx.x < 32) {
      float sum = 0.f;
#pragma unroll
      for (int row = 0; row < Shape::br; row += 32) sum += sum_of(row + threadIdx.x);
#pragma unroll
      for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
      const int query_tiles = (flex.seq_q + Shape::br - 1) / Shape::br;
      const std::int64_t part_place = plane * query_tiles + first_query / Shape::br;
      leave_sums<Shape, Read>(
          place, arguments, part_place, 1, [&](int) { return first_query; }, [](int) { return 0; }, [&](int) { return sum; });
    }
}

}  // namespace tilescope::device
