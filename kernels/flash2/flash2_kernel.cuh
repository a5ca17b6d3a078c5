// Device code of flash2: one block a query tile. K and V pass through a ring in shared memory; everything else stays in registers.
//
//   Warp w owns rows_per_warp query rows for the whole kernel, so the warps exchange no data:
//
//     shared     Q [Br,d]   K ring [stages][Bc,d]   V ring [stages][Bc,d]      all swizzled (tensor_core.cuh)
//     registers  S [rows,Bc] fp32 ── row max, exp2 ──► P 16-bit, 16 keys at a time ──► O += P V, O [rows,d] fp32
//
//   One iteration: S = Q K^T, row maxima, then O += P V in slices of 16 keys. A warp's part of it is in flash2_warp.cuh.
#pragma once

#include <type_traits>

#include "kernels/common/probe.cuh"
#include "kernels/flash2/flash2_variants.h"
#include "kernels/flash2/flash2_warp.cuh"

namespace tilescope::device {

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
