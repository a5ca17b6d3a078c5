// Another loop for hopper_flex at D 64: that of hopper_wgmma over the key tiles that block lists name. kernels/lab measures it
// beside the shipped one. Compiled at run time by NVRTC.
//
//   All warps do the same, and one thread copies. A block has 128 registers a thread, so two fit an SM: one starts, ends or
//   computes its softmax while the other multiplies. Masks that compare much spill at 128 registers, and are slower
//   (docs/masks.md).
#pragma once

#include "kernels/common/hopper_attention.cuh"
#include "kernels/flex/flex_parts.cuh"
#include "kernels/hopper_flex/hopper_flex_arguments.h"
#include "kernels/hopper_wgmma/hopper_wgmma_kernel.cuh"

namespace tilescope::device {

template <class Element, int dim>
using TwoBlocksBase = WgmmaShape<HopperShape<Element, dim, 2, 128, 2, false>, 2>;

/// Shape of a request, as HopperFlexShape.
template <class Element, int dim, class ScoreChange, class Visible, int key_tiles_of_block, bool is_ragged>
using TwoBlocksShape = FlexLayout<TwoBlocksBase<Element, dim>, ScoreChange, Visible, key_tiles_of_block, is_ragged, 0>;

/// The values that change with the key alone: read while the tile before is computed, by the threads of the second group.
template <class Shape>
struct ColumnReader {
  static_assert(Shape::bc == 128 && Shape::d == 64);
  const FlexPlace& block;
  const FlexVisits<Shape>& visits;
  const int own;  // key of the tile; negative: the thread reads none
  FlexColumns<Shape> held{};

  __device__ __forceinline__ void read(int j) {
    if constexpr (Shape::columns > 0) {
      const int kv = visits.key_of(block.arguments, j) + own;
      if (own < 0 || (Shape::ragged && kv >= block.arguments.seq_kv)) return;
      if constexpr (Shape::Score::columns > 0) Shape::Score::read_columns(block, kv, held.score);
      if constexpr (Shape::Mask::columns > 0)
        if (j < visits.partial_tiles) Shape::Mask::read_columns(block, kv, held.mask);
    }
  }
  __device__ __forceinline__ void store(int stage) const {
    if constexpr (Shape::columns > 0) {
      if (own < 0) return;
      held.store(visits.words + Shape::columns_at + stage * Shape::columns * Shape::bc + own);
    }
  }
};

/// Changes and masks the scores of the j-th tile. `columns_of`: the values of its keys; `row`: the warp's first one in the block.
template <class Shape>
__device__ __forceinline__ void finish_scores(HopperGroup<Shape>& work, const FlexPlace& block, const FlexVisits<Shape>& visits,
                                              int j, const std::uint32_t* columns_of, int first_row, int row, int lane) {
  const int key = visits.key_of(block.arguments, j);
  const auto score_at = [&](int, int n, int half, int i) { return &work.s[n * 4 + half * 2 + i]; };
  const int keys = block.arguments.seq_kv - key;
  const bool masked = Shape::Mask::present && j < visits.partial_tiles, at_end = Shape::ragged && keys < Shape::bc;
  const auto hide_end = [&](float hidden) {
    if (at_end) work.mask(keys, lane, hidden);
  };
  change_and_mask<Shape, 1, false>(block, lane, first_row, row, key, visits.words, columns_of, masked, masked || at_end, score_at,
                                   hide_end);
}

template <class Shape>
__device__ __forceinline__ void hopper_flex_two_blocks(const HopperFlexArguments& arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const int thread = threadIdx.x, lane = thread & 31, group = __shfl_sync(0xffffffffu, thread / 128, 0),
            warp = __shfl_sync(0xffffffffu, thread / 32 & 3, 0);
  const FlexArguments& flex = arguments.flex;
  const std::uint32_t q_tile = shared_address(shared), k_ring = q_tile + Shape::q_bytes, v_ring = k_ring + Shape::ring_bytes;
  const std::uint32_t q_full = q_tile + Shape::barriers_at, k_full = q_full + 8, v_full = k_full + 8 * Shape::stages;
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(shared + Shape::words_at);
  const int head = blockIdx.y, batch = blockIdx.z;
  const FlexPlace block{flex, batch, head, words + Shape::uniforms_at};
  const HopperTile<Shape> tile(arguments, flex_query_tile(flex), batch * arguments.heads + head);
  constexpr int starter = 64;  // thread 0 waits for the lengths of the lists
  if (thread == starter) {
    barrier_start(q_full, 1);
    for (int i = 0; i < Shape::stages; ++i) barrier_start(k_full + 8 * i, 1), barrier_start(v_full + 8 * i, 1);
    barriers_ready();
  }
  FlexVisits<Shape> visits{words};
  if (!visits.read(flex, block, flex_query_tile(flex), thread))
    return write_hidden_rows<Shape>(flex, block, tile.first_row, thread);
  __syncthreads();
  visits.end_at_last_key(flex, thread);
  const int tiles = visits.tiles;

  const auto load = [&](int j) {
    const int stage = j % Shape::stages, row = visits.key_of(flex, j);
    barrier_arrive_expecting(k_full + 8 * stage, Shape::kv_bytes);
    load_box(k_ring + stage * Shape::kv_bytes, &arguments.k, k_full + 8 * stage, row, tile.kv_plane);
    barrier_arrive_expecting(v_full + 8 * stage, Shape::kv_bytes);
    load_box(v_ring + stage * Shape::kv_bytes, &arguments.v, v_full + 8 * stage, row, tile.kv_plane);
  };
  if (thread == 0) {
    const int groups = min(Shape::groups, (arguments.seq_q - tile.first_row + 63) / 64);  // the others have no rows
    barrier_arrive_expecting(q_full, groups * Shape::group_bytes);
    for (int g = 0; g < groups; ++g)
      load_box(q_tile + g * Shape::group_bytes, &arguments.q, q_full, tile.first_row + g * 64, tile.plane);
    load(0);
  }
  ColumnReader<Shape> columns{block, visits, thread - 128};
  if constexpr (Shape::columns > 0) {
    columns.read(0);
    columns.store(0);
    __syncthreads();
  }

  const float scale_log2 = flex_scale<typename Shape::Score>(block) * log2_e;
  const int row = group * 64 + warp * 16;
  const std::uint64_t q = wgmma_descriptor(q_tile + group * Shape::group_bytes, 16);
  const std::uint64_t k = wgmma_descriptor(k_ring, 16), v = wgmma_descriptor(v_ring, Shape::kv_panel_bytes);
  HopperGroup<Shape> work;
  work.clear();
  barrier_wait(q_full, 0);
  for (int j = 0; j < tiles; ++j) {
    const int stage = j % Shape::stages, parity = j / Shape::stages & 1, next = (j + 1) % Shape::stages;
    if (j + 1 < tiles) {
      if (thread == 0) load(j + 1);
      columns.read(j + 1);
    }
    barrier_wait(k_full + 8 * stage, parity);
    work.start_scores(q, k + stage * (Shape::kv_bytes >> 4));
    wgmma_wait<0>();
    pin(work.s);
    finish_scores<Shape>(work, block, visits, j, words + Shape::columns_at + stage * Shape::columns * Shape::bc, tile.first_row,
                         row, lane);
    columns.store(next);
    work.softmax(scale_log2);
    work.rescale();
    work.round();
    barrier_wait(v_full + 8 * stage, parity);
    work.start_output(v + stage * (Shape::kv_bytes >> 4));
    wgmma_wait<0>();
    pin(work.o);
    pin(work.p);
    __syncthreads();  // all have read the tile, so the one after the next may overwrite it
  }
  if constexpr (Shape::Score::has_factor)
    for (float& highest : work.row_max) highest += left_out<typename Shape::Score>;
  const std::uint32_t lse = q_tile + Shape::lse_at + group * 64 * 4, own = q_tile + group * Shape::group_bytes;
  work.finish(own, lse, scale_log2, warp, lane);
  store_group<Shape>(arguments, own, lse, tile.first_row + group * 64, tile.plane, group);
  stores_have_read();
#endif
}

}  // namespace tilescope::device
