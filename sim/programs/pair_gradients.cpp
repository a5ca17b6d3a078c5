// Reads of shared memory by warps of 32 queries and 32 keys.
#include "sim/programs/pair_gradients.h"

namespace tilescope {

PairWork pair_work(std::string_view id, std::string_view step, const BlockPlan& plan, const KernelNeeds& needs, int slices) {
  const AttentionProblem& problem = plan.grid.problem;
  return {.scale = plan.scale,
          .query_reads = ceil_div(plan.grid.tile.block_kv, warp_edge),
          .key_reads = ceil_div(plan.grid.tile.block_q, warp_edge),
          .made_by_others = std::int64_t{needs.warps_sharing_rows} - 1,
          .slices = slices,
          .overhead = kernel_profile(id).overhead("gradients", step, problem)};
}

ProductForm added_product(const BlockPlan& plan) {
  return {.factor = plan.scale,
          .left_reads = ceil_div(plan.grid.problem.head_dim, warp_edge),
          .right_reads = ceil_div(plan.grid.tile.block_q, warp_edge)};
}

TileSet key_block_tiles(const KernelNeeds& needs, bool all_need_d_s) {
  TileSet chip_tiles = tile_bits(tiles::q_ring, tiles::k_kept, tiles::v_kept, tiles::d_o_ring);
  if (needs.warps_sharing_rows > 1) chip_tiles |= tile_bits(tiles::p_kept, tiles::d_s);
  if (all_need_d_s) chip_tiles |= tile_bits(tiles::d_s);
  return chip_tiles;
}

void begin_keys(BlockBuilder& b, const KeyBlockLines& lines, bool is_seen) {
  b.fill(lines.init, tiles::d_k, 0.0F);
  b.fill(lines.init, tiles::d_v, 0.0F);
  if (!is_seen) return;
  b.load(lines.load_k, tiles::k_kept);
  b.load(lines.load_v, tiles::v_kept);
}

void store_keys(BlockBuilder& b, const KeyBlockLines& lines, std::string_view id, const AttentionProblem& problem) {
  b.store(lines.store, tiles::d_k);
  b.store(lines.store, tiles::d_v);
  b.overhead(kernel_profile(id).overhead("gradients", "key_store", problem));
}

}  // namespace tilescope
