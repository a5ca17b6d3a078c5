// Device code of flex: flash2's warps over the key tiles that block lists name, with changed scores. Compiled at run time by NVRTC.
//
//   One body of the loop serves partial, full and last tiles: NVRTC's time grows with the code, and a tile has 256 products of each
//   warp. The last tile starts no copies: they are switched off by a predicate, and the barriers of its stage take part.
#pragma once

#include "kernels/flash2/flash2_warp.cuh"
#include "kernels/flex/flex_parts.cuh"

namespace tilescope::device {

struct NothingRecorded {
  __device__ __forceinline__ void statistics(int, int, float, float) const {}
};

template <class Element, int dim>
using Flash2OfFlex = Flash2Shape<Element, dim, 128, dim == 64 ? 128 : 64, 4, 2, 2, false, KeyTileOrder::ascending>;

/// The shape of flash2 with FlexScore and FlexMask. `page_keys`: keys of a page of K and V; 0: they have none.
template <class Element, int dim, class ScoreChange, class Visible, int key_tiles_of_block, bool is_ragged, int page_keys = 0>
using FlexShape = FlexLayout<Flash2OfFlex<Element, dim>, ScoreChange, Visible, key_tiles_of_block, is_ragged, page_keys>;

/// `Arguments`: FlexArguments, or with pages FlexPagedArguments.
template <class Shape, class Arguments>
__device__ __forceinline__ void flex_attention(const Arguments& arguments) {
  using T = typename Shape::T;
  using Score = typename Shape::Score;
  using Mask = typename Shape::Mask;
  constexpr int bc = Shape::bc;
  extern __shared__ __align__(128) char shared[];
  char* const q_tile = shared;
  char* const k_ring = shared + Shape::q_bytes;
  char* const v_ring = k_ring + Shape::stages * Shape::kv_bytes;
  float* const lse_tile = reinterpret_cast<float*>(v_ring + Shape::stages * Shape::kv_bytes);
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(shared + Shape::words_at);

  const int thread = threadIdx.x, lane = __shfl_sync(0xffffffffu, thread & 31, thread & 31),
            warp = __shfl_sync(0xffffffffu, thread >> 5, 0);
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const int head = blockIdx.y, batch = blockIdx.z;
  const int first_row = flex_query_tile(arguments) * Shape::br, rows = min(Shape::br, seq_q - first_row);
  // Read again for every tile where that pays: otherwise ptxas spills it.
  const auto kept_row = reinterpret_cast<volatile std::uint32_t*>(words + 2);
  if (Shape::rereads_place && thread == 0)
    *kept_row = (batch * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads)) * seq_kv;
  const std::int64_t kv_row =
      Shape::page_keys > 0 || Shape::rereads_place
          ? 0
          : (static_cast<std::int64_t>(batch) * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads)) * seq_kv;
  const char* const k_plane = static_cast<const char*>(arguments.k) + kv_row * Shape::row_bytes;
  const char* const v_plane = static_cast<const char*>(arguments.v) + kv_row * Shape::row_bytes;
  const int warp_row = warp * Shape::rows_per_warp;
  const FlexPlace place{arguments, batch, head, words + Shape::uniforms_at};

  FlexVisits<Shape> visits{words};
  if (!visits.read(arguments, place, flex_query_tile(arguments), thread))
    return write_hidden_rows<Shape>(arguments, place, first_row, thread);

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

  const int visits_end = Shape::visits_at + (FlexVisits<Shape>::has_lists ? visits.tiles : 0);
  visits.end_at_last_key(arguments, thread);
  FlexPool<Shape> pool{words, 0};
  if constexpr (Shape::page_keys > 0) {
    pool.read(arguments.pages, place, visits, visits_end, thread);
    __syncthreads();
  }
  const int tiles = visits.tiles, partial_tiles = visits.partial_tiles;
  constexpr bool reads_visits = FlexVisits<Shape>::has_lists || Shape::page_keys > 0;  // behind them may be no shared memory
  const auto key_of = [&](int j) { return visits.key_of(arguments, j); };

  constexpr int copied_rows = bc / Shape::warps, copied_bytes = copied_rows * Shape::row_bytes;
  const auto copy_part_as = [&](auto whole, OnlyIf only, const char* plane_start, char* ring_start, int key, int j) {
    int own = lane;  // what follows from it is computed again for every tile
    asm volatile("" : "+r"(own));
    const std::uint32_t to = shared_address(ring_start) + (j % Shape::stages) * Shape::kv_bytes + warp * copied_bytes;
    constexpr bool all_exist = decltype(whole)::value;
    if constexpr (Shape::page_keys == 0) {
      const char* from = plane_start;
      if constexpr (Shape::rereads_place)
        from += std::uint64_t{*kept_row + key + warp * copied_rows} * Shape::row_bytes;
      else
        from += static_cast<std::int64_t>(key) * Shape::row_bytes + warp * copied_bytes;
      copy_rows<Shape::row_bytes, copied_rows, all_exist>(to, from, seq_kv - key - warp * copied_rows, own, only);
    } else {
      constexpr int part_rows = Shape::page_keys < copied_rows ? Shape::page_keys : copied_rows;
#pragma unroll
      for (int part = 0; part < copied_rows; part += part_rows) {
        const int first = key + warp * copied_rows + part;
        const unsigned row = all_exist || first < seq_kv ? pool.row_of(first) : 0;
        copy_rows<Shape::row_bytes, part_rows, all_exist>(to + part * Shape::row_bytes,
                                                          plane_start + static_cast<std::int64_t>(row) * Shape::row_bytes,
                                                          seq_kv - first, own, only);
      }
    }
  };
  const auto ends_in = [&](int key) { return Shape::ragged && seq_kv - key < bc; };
  const auto copy_part = [&](OnlyIf only, const char* plane_start, char* ring_start, int key, int j) {
    if (ends_in(key))
      copy_part_as(Flag<false>(), only, plane_start, ring_start, key, j);
    else
      copy_part_as(Flag<true>(), only, plane_start, ring_start, key, j);
  };
  // The values that change with the key alone: read when the tile's K is, stored when its V is.
  using ColumnsHeld = FlexColumns<Shape>;
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
      if (thread < bc) held.store(to);
      barrier_arrive(full + (j % Shape::stages) * 8);
    }
  };

  {
    ColumnsHeld held{};
    const int key = key_of(0);
    read_columns(held, key, 0);
    copy_part(OnlyIf{true}, k_plane, k_ring, key, 0);
    copy_part(OnlyIf{true}, v_plane, v_ring, key, 0);
    barrier_arrive_after_copies(full);
    store_columns(held, 0);
  }
  copy_async_commit();

  Flash2Warp<Shape> work(lane);
  copy_async_wait<1>();
  __syncwarp();

  const float scale_log2 = flex_scale<Score>(place) * log2_e;
  const auto score_at = [&](int mt, int n, int half, int i) { return &work.s[mt][n][half * 2 + i]; };

  for (int j = 0; j < tiles; ++j) {
    // ptxas would keep every address that it can compute before the loop, and spill it; at D 128 under a mask it does so only where
    // the place is read again.
    if constexpr (Shape::d == 64 || !Mask::present || Shape::rereads_place)
      asm volatile("" : "+r"(work.places.rows_first), "+r"(work.places.chunks_first));
    const int stage = j % Shape::stages;
    const OnlyIf more{j + 1 < tiles};
    const int next_key = key_of(reads_visits && !more.wanted ? j : j + 1);
    const bool masked = Mask::present && j < partial_tiles;
    float offset[Shape::m_tiles][2];
    ColumnsHeld held;
    if constexpr (Shape::ragged) held = {};  // keys past the end
    barrier_wait(full + stage * 8, (j / Shape::stages) & 1);
    multiply_transposed<T, Shape::row_bytes, Mask::present && Shape::d == 64 ? 2 : 4>(
        work.s, work.places, shared_address(own_rows), shared_address(k_ring) + stage * Shape::kv_bytes);
    barrier_wait(empty + ((j + 1) % Shape::stages) * 8, (((j + 1) / Shape::stages) & 1) ^ 1);
    copy_part(more, k_plane, k_ring, next_key, j + 1);
    if constexpr (Shape::columns > 0)
      if (more.wanted) read_columns(held, next_key, j + 1);
    const int key = key_of(j);
    const std::uint32_t* const columns_of = column_ring + stage * Shape::columns * bc;
    const auto hide_end = [&](float hidden) {
      if (ends_in(key)) mask_scores<false>(work.s, seq_kv - key, lane, hidden);
    };
    change_and_mask<Shape, Shape::m_tiles, Shape::rereads_place>(place, lane, first_row, warp_row, key, words, columns_of, masked,
                                                                 masked || ends_in(key), score_at, hide_end);
    const bool sees = work.maxima(offset, scale_log2, NothingRecorded(), j);
    copy_part(more, v_plane, v_ring, next_key, j + 1);
    barrier_arrive_after_copies(full + ((j + 1) % Shape::stages) * 8);
    store_columns(held, j + 1);
    // A warp none of whose rows sees a key of the tile is done with it.
    if (!masked || __any_sync(0xffffffffu, sees))
      work.accumulate(shared_address(v_ring) + stage * Shape::kv_bytes, offset, scale_log2);
    __syncwarp();  // reconverge: in the end no lane may still read Q, because finish() overwrites its rows with O
    barrier_arrive(empty + stage * 8);
  }

  if constexpr (Score::has_factor)
#pragma unroll
    for (auto& rows_max : work.row_max)
#pragma unroll
      for (float& highest : rows_max) highest += left_out<Score> * (Shape::keeps_offsets ? scale_log2 : 1.f);
  const int own = Shape::rereads_place ? __shfl_sync(0xffffffffu, lane, lane) : lane;
  work.finish(own_rows, lse_tile + warp_row, scale_log2, own);
  __syncthreads();
  // The block's place is read from the hardware again, so that no register holds it through the loop.
  auto end = Flash2Place<Shape>::again(arguments.heads);
  if (arguments.last_query_tile_first) end.first_row = (gridDim.x - 1) * Shape::br - end.first_row;
  const int left = min(Shape::br, seq_q - end.first_row);
  const std::int64_t o_row = (static_cast<std::int64_t>(end.batch) * arguments.heads + end.head) * seq_q + end.first_row;
  store_rows<Shape::row_bytes, Shape::rows_per_warp>(static_cast<char*>(arguments.o) + (o_row + warp_row) * Shape::row_bytes,
                                                     own_rows, left - warp_row, own);
  float* const lse = arguments.lse + o_row;
  for_block_by_sector<Shape::threads>(lse, left, threadIdx.x, [&](int i) { lse[i] = lse_tile[i]; });
}

}  // namespace tilescope::device
