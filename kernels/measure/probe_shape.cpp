// Shapes of the probed launches, matching the ticks in the kernels.
#include "kernels/measure/probe_shape.h"

#include <algorithm>

#include "kernels/standard/rows_plan.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

using enum ProbeStage;
constexpr ProbeStage flash2_stages[] = {wait, scores, copy_k, softmax, copy_v, product};
constexpr ProbeStage flash1_stages[] = {load, scores, softmax, product, store};
constexpr ProbeStage scores_stages[] = {load, scores, store};
constexpr ProbeStage softmax_stages[] = {load, softmax, store};
constexpr ProbeStage output_stages[] = {wait, copy, product};
constexpr ProbeStage flash1_backward_stages[] = {load, pairs, store};
constexpr ProbeStage row_dot_stages[] = {row_dots};
constexpr ProbeStage convert_stages[] = {convert};
// With d = 64 a warp has all queries of its keys; with d = 128 two warps share them.
constexpr ProbeStage adding_stages[] = {wait, pairs, d_q_part};
constexpr ProbeStage shared_adding_stages[] = {wait, pairs, other_half, d_q_part};

// As the simulated lanes are named. hopper_wgmma has no roles: its two groups do the same.
constexpr std::string_view hopper_roles[] = {"producer", "consumer 0", "consumer 1", "consumer 2"};
constexpr std::string_view equal_groups[] = {"group 0", "group 1"};
constexpr std::int64_t hopper_group_rows = 64, group_warps = 4;

std::int64_t query_tiles(const AttentionProblem& p, const TileShape& tile) {
  return ceil_div(p.seq_q, tile.block_q);
}
std::int64_t key_tiles(const AttentionProblem& p, const TileShape& tile) {
  return ceil_div(p.seq_kv, tile.block_kv);
}

}  // namespace

std::int64_t ProbeShape::blocks_a_plane() const {
  return ceil_div(seq_q, tile_rows) * ceil_div(tile_rows, group_rows);
}

std::int64_t ProbeShape::first_row(std::int64_t block) const {
  const std::int64_t groups = ceil_div(tile_rows, group_rows), own = block % blocks_a_plane();
  return own / groups * tile_rows + own % groups * group_rows;
}

std::int64_t ProbeShape::rows(std::int64_t block) const {
  const std::int64_t first = first_row(block), tile_end = std::min((first / tile_rows + 1) * tile_rows, seq_q);
  return std::clamp<std::int64_t>(tile_end - first, 0, group_rows) * planes_of_block;
}

std::pair<std::int64_t, std::int64_t> ProbeShape::place_of(std::int64_t plane, std::int64_t query) const {
  const std::int64_t groups = ceil_div(tile_rows, group_rows), in_tile = query % tile_rows;
  return {plane / planes_of_block * blocks_a_plane() + query / tile_rows * groups + in_tile / group_rows,
          plane % planes_of_block * seq_q + in_tile % group_rows};
}

std::pair<std::int64_t, std::int64_t> ProbeShape::row_of(std::int64_t block, std::int64_t row) const {
  return {block / blocks_a_plane() * planes_of_block + row / seq_q, first_row(block) + row % seq_q};
}

std::vector<ProbeShape> flash2_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  const std::int64_t keys = key_tiles(p, tile), blocks = p.query_planes() * query_tiles(p, tile);
  return {{"attention", 4, blocks, keys, flash2_stages, keys, p.seq_q, tile.block_q, tile.block_q}};
}

std::vector<ProbeShape> flash1_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  const std::int64_t keys = key_tiles(p, tile);
  return {{"attention", 4, p.query_planes(), keys * query_tiles(p, tile), flash1_stages, keys, p.seq_q, p.seq_q, p.seq_q}};
}

std::vector<ProbeShape> flash1_backward_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  const std::int64_t group = p.heads / p.kv_heads, pairs_of_tiles = key_tiles(p, tile) * group * query_tiles(p, tile);
  ProbeShape shape{"gradients", 8, p.kv_planes(), pairs_of_tiles, flash1_backward_stages, 0, p.seq_q, p.seq_q, p.seq_q};
  shape.planes_of_block = group;
  shape.keys = p.seq_kv;
  return {shape};
}

std::vector<ProbeShape> standard_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  const std::int64_t planes = p.query_planes(), queries = query_tiles(p, tile), keys = key_tiles(p, tile);
  ProbeShape scores_launch{"scores", 8, planes * queries * keys, 1, scores_stages};
  ProbeShape softmax_launch{"softmax", 4, 0, 1, softmax_stages, 1, p.seq_q, tile.block_q, rows_of_block(p).rows};
  softmax_launch.blocks = planes * softmax_launch.blocks_a_plane();
  ProbeShape output_launch{"output", 8, planes * queries, keys, output_stages};
  return {scores_launch, softmax_launch, output_launch};
}

namespace {

/// Returns the launch of D and that of the gradients, with `more_blocks` a key head beside those of its key tiles.
std::vector<ProbeShape> backward_shapes(const AttentionProblem& p, const TileShape& tile, std::span<const ProbeStage> stages,
                                        std::int64_t more_blocks) {
  constexpr std::int64_t warp_keys = 32, warp_columns = 64;
  const std::int64_t queries = query_tiles(p, tile);
  const ProbeShape rows{"row dots", 4, p.query_planes() * queries, 1, row_dot_stages, 0, p.seq_q, tile.block_q, tile.block_q};
  ProbeShape gradients{"gradients", static_cast<int>(tile.block_kv / warp_keys * (p.head_dim / warp_columns)),
                       p.kv_planes() * (key_tiles(p, tile) + more_blocks), p.heads / p.kv_heads * queries, stages};
  gradients.keys = p.seq_kv;
  return {rows, gradients};
}

}  // namespace

std::vector<ProbeShape> flash2_backward_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  const std::span<const ProbeStage> stages = p.head_dim == 64 ? std::span<const ProbeStage>(adding_stages) : shared_adding_stages;
  std::vector<ProbeShape> shapes = backward_shapes(p, tile, stages, 0);
  shapes.push_back({"convert dQ", 4, p.query_planes() * query_tiles(p, tile), 1, convert_stages});
  return shapes;
}

std::vector<ProbeShape> deterministic_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  std::vector<ProbeShape> shapes = flash2_backward_probe_shapes(p, tile);
  shapes[1].blocks_stay = true;  // for a run of key tiles, as long as the copies of dQ_acc make it
  shapes[1].iterations *= key_tiles(p, tile);
  return shapes;
}

std::vector<ProbeShape> two_pass_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  const std::span<const ProbeStage> all = shared_adding_stages;
  // A block that owns queries records one stage, the whole of its work.
  return backward_shapes(p, tile, all.first(p.head_dim == 64 ? 2 : 3), p.heads / p.kv_heads * query_tiles(p, tile));
}

namespace {

ProbeShape hopper_shape(const AttentionProblem& p, const TileShape& tile, std::span<const std::string_view> roles) {
  ProbeShape shape{"attention", static_cast<int>(group_warps * std::ssize(roles)), p.query_planes() * query_tiles(p, tile)};
  shape.steps = key_tiles(p, tile);
  shape.seq_q = p.seq_q;
  shape.tile_rows = shape.group_rows = tile.block_q;
  shape.roles = roles;
  return shape;
}
std::span<const std::string_view> roles_of(const TileShape& tile) {
  return std::span(hopper_roles).first(static_cast<std::size_t>(1 + tile.block_q / hopper_group_rows));
}

}  // namespace

std::vector<ProbeShape> hopper_wgmma_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  return {hopper_shape(p, tile, equal_groups)};
}

std::vector<ProbeShape> hopper_roles_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  return {hopper_shape(p, tile, roles_of(tile))};
}

std::vector<ProbeShape> hopper_persistent_probe_shapes(const AttentionProblem& p, const TileShape& tile) {
  ProbeShape shape = hopper_shape(p, tile, roles_of(tile));
  shape.blocks_stay = true;
  return {shape};
}

std::vector<ProbeShape> probe_shapes(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (!kernel.has_probe()) return {};
  return kernel.probe_shapes(problem, kernel.tile(problem));
}

int row_launch_of(std::span<const ProbeShape> shapes) {
  const auto found = std::find_if(shapes.begin(), shapes.end(), [](const ProbeShape& shape) { return shape.tile_rows > 0; });
  return static_cast<int>(found - shapes.begin());
}

}  // namespace tilescope
