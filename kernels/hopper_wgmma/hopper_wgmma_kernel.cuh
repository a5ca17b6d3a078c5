// Device code of hopper_wgmma: flash2's loop with wgmma in place of mma.sync, and TMA in place of cp.async. All warps do the same.
//
//   One thread starts the copies of the next key tile. Then each group computes S = Q K^T, the softmax and O += P V, one after the
//   other, and waits for each product. A second block on the SM works meanwhile, where two fit.
#pragma once

#include "kernels/common/hopper_attention.cuh"

namespace tilescope::device {

/// `is_grouped`: blocks in the order of grouped_tile(), on a one-dimensional grid.
template <class Base, int blocks, bool is_grouped = false>
struct WgmmaShape : Base {
  static constexpr int threads = 128 * Base::groups, min_blocks = blocks;
  static constexpr bool grouped = is_grouped;
  static constexpr int lse_at = Base::q_bytes + 2 * Base::ring_bytes, barriers_at = lse_at + Base::lse_bytes;
  static constexpr int shared_bytes = barriers_at + 8 * (1 + 2 * Base::stages);
};

template <class Shape, class Recorder = NoRoleProbe>
__global__ __launch_bounds__(Shape::threads, Shape::min_blocks) void hopper_wgmma_kernel(
    const __grid_constant__ typename Recorder::template Launch<HopperArguments> arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const std::uint32_t q_tile = shared_address(shared), k_ring = q_tile + Shape::q_bytes, v_ring = k_ring + Shape::ring_bytes;
  const std::uint32_t q_full = q_tile + Shape::barriers_at, k_full = q_full + 8, v_full = k_full + 8 * Shape::stages;
  const int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0), warp = __shfl_sync(0xffffffffu, threadIdx.x / 32 & 3, 0),
            lane = threadIdx.x & 31;
  const auto tile =
      Shape::grouped ? grouped_tile<Shape>(arguments, blockIdx.x) : HopperTile<Shape>(arguments, blockIdx.x, blockIdx.y);
  const int tiles = tile.key_tiles;

  Recorder::block_begins(arguments);
  // Tile j is the j-th from the right edge.
  auto load = [&](int j) {
    const int stage = j % Shape::stages, row = (tiles - 1 - j) * Shape::bc;
    barrier_arrive_expecting(k_full + 8 * stage, Shape::kv_bytes);
    load_box(k_ring + stage * Shape::kv_bytes, &arguments.k, k_full + 8 * stage, row, tile.kv_plane);
    barrier_arrive_expecting(v_full + 8 * stage, Shape::kv_bytes);
    load_box(v_ring + stage * Shape::kv_bytes, &arguments.v, v_full + 8 * stage, row, tile.kv_plane);
  };
  if (threadIdx.x == 0) {
    barrier_start(q_full, 1);
    for (int i = 0; i < Shape::stages; ++i) barrier_start(k_full + 8 * i, 1), barrier_start(v_full + 8 * i, 1);
    barriers_ready();
    if (tiles > 0) {
      const int groups = min(Shape::groups, (arguments.seq_q - tile.first_row + 63) / 64);  // the others have no rows
      barrier_arrive_expecting(q_full, groups * Shape::group_bytes);
      for (int g = 0; g < groups; ++g)
        load_box(q_tile + g * Shape::group_bytes, &arguments.q, q_full, tile.first_row + g * 64, tile.plane);
      load(0);
    }
  }
  __syncthreads();

  Recorder probe(arguments, group, q_tile + Shape::shared_bytes);
  const float scale_log2 = arguments.scale * log2_e;
  const int group_row = tile.first_row + group * 64;
  const int first_masked = HopperTile<Shape>::visible_keys(arguments, group_row) / Shape::bc;
  const int visible = Shape::causal ? group_row + warp * 16 + 1 + arguments.seq_kv - arguments.seq_q : arguments.seq_kv;
  const std::uint64_t q = wgmma_descriptor(q_tile + group * Shape::group_bytes, 16);
  const std::uint64_t k = wgmma_descriptor(k_ring, 16), v = wgmma_descriptor(v_ring, Shape::kv_panel_bytes);
  HopperGroup<Shape> work;
  work.clear();
  if (tiles > 0) barrier_wait(q_full, 0);
  probe.ended(ProbeStage::wait_q);
  for (int j = 0; j < tiles; ++j) {
    const int stage = j % Shape::stages, parity = j / Shape::stages & 1, t = tiles - 1 - j;
    if (threadIdx.x == 0 && j + 1 < tiles) {
      load(j + 1);
      probe.ended(ProbeStage::copy);
    }
    barrier_wait(k_full + 8 * stage, parity);
    probe.ended(ProbeStage::wait_k);
    work.start_scores(q, k + stage * (Shape::kv_bytes >> 4));
    probe.ended(ProbeStage::scores);
    wgmma_wait<0>();
    pin(work.s);
    probe.ended(ProbeStage::wait_scores);
    if (t >= first_masked) work.mask(visible - t * Shape::bc, lane);
    work.softmax(scale_log2);
    if constexpr (Recorder::on) pin(work.s);
    probe.statistics(work, tile.plane, group_row + warp * 16 + lane / 4, j, scale_log2);
    probe.ended(ProbeStage::softmax);
    work.rescale();
    work.round();
    if constexpr (Recorder::on) pin(work.p);
    probe.ended(ProbeStage::rescale);
    barrier_wait(v_full + 8 * stage, parity);
    probe.ended(ProbeStage::wait_v);
    work.start_output(v + stage * (Shape::kv_bytes >> 4));
    probe.ended(ProbeStage::product);
    wgmma_wait<0>();
    pin(work.o);
    pin(work.p);
    probe.ended(ProbeStage::wait_product);
    __syncthreads();  // all have read the tile, so the one after the next may overwrite it
    probe.ended(ProbeStage::wait_groups);
  }
  const std::uint32_t lse = q_tile + Shape::lse_at + group * 64 * 4;
  const std::uint32_t own = q_tile + group * Shape::group_bytes;
  work.finish(own, lse, scale_log2, warp, lane);
  store_group<Shape>(arguments, own, lse, group_row, tile.plane, group);
  probe.ended(ProbeStage::store);
  stores_have_read();
  probe.role_ends();
#endif
}

}  // namespace tilescope::device
