// The common parts of backward programs: the query tiles that a key tile visits, the blocks that own keys, and the launch for D.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_profile.h"

namespace tilescope {

/// A query tile that a block with a key tile visits.
struct QueryTile {
  std::int64_t index = 0;
  bool partial = false;  // must be masked element by element
};

/// Returns the query tiles that see some key of tile `j`, ordered like the key tiles of forward programs.
inline std::vector<QueryTile> query_visits(const TileGrid& grid, std::int64_t plane, std::int64_t j) {
  std::vector<QueryTile> found;
  for (std::int64_t i = 0; i < grid.query_tiles; ++i)
    if (const TileVisibility seen = grid.visibility(plane, i, j); seen != TileVisibility::empty)
      found.push_back({i, seen == TileVisibility::partial});
  if (grid.key_order == KeyOrder::descending) std::reverse(found.begin(), found.end());
  return found;
}

/// A query tile and its plane. group_visits() returns those that key tile `j` visits, over all query heads that read its key head.
struct GroupVisit {
  std::int64_t plane = 0;
  QueryTile tile;
};
inline std::vector<GroupVisit> group_visits(const TileGrid& grid, std::int64_t kv_plane, std::int64_t j) {
  std::vector<GroupVisit> found;
  const std::int64_t first = grid.problem.first_query_plane_of(kv_plane);
  for (std::int64_t plane = first; plane < first + grid.problem.heads_of_kv_head(); ++plane)
    for (const QueryTile& tile : query_visits(grid, plane, j)) found.push_back({plane, tile});
  return found;
}

/// Returns the launches of a backward pass whose blocks own keys and add to sums of dQ: D and the zeros of the sums, the gradients
/// with `key_blocks` blocks a key plane, and dQ from its sums. `Line` is the program's enumeration of its lines.
template <class Line>
std::vector<LaunchSpec> added_gradient_launches(std::string_view id, const TileGrid& grid, const ProgramTile& tile,
                                                std::int64_t key_blocks, const KernelNeeds& needs) {
  const AttentionProblem& problem = grid.problem;
  const auto rows = [&](std::string_view name, const KernelNeeds& of, Line first, Line last) {
    return LaunchSpec{.name = name,
                      .grid_x = grid.query_tiles,
                      .grid_y = problem.heads,
                      .grid_z = problem.batch,
                      .needs = of,
                      .first_line = LineId(first).number,
                      .last_line = LineId(last).number};
  };
  LaunchSpec keys = rows("gradients", needs, Line::key_tiles, Line::store);
  keys.grid_x = key_blocks;
  keys.grid_y = problem.kv_heads;
  keys.axis = Axis::key;
  return {rows("row dots", row_dot_needs(id, problem, tile), Line::rows, Line::store_zero), keys,
          rows("convert dQ", convert_needs(id, problem, tile), Line::convert_rows, Line::store_d_q)};
}

/// Returns the place of a block that owns key tile `j`. If `alike`, and without a mask, all whole tiles share a shape. Otherwise
/// every tile has its own.
inline std::optional<BlockPlace> place_of_keys(const BlockPlan& plan, std::int64_t kv_plane, std::int64_t j, bool alike) {
  const AttentionProblem& problem = plan.grid.problem;
  if (!plan.rows_are_whole(tensors::q) || problem.mask) return std::nullopt;
  const TileRange keys = plan.grid.keys(j);
  const std::int64_t column = alike && !problem.has_mask() ? 0 : 1 + j;
  BlockPlace place = plan.place(0, keys, plan.with_statistic(column, problem.first_query_plane_of(kv_plane), 0));
  place.domain = BlockPlan::along(Axis::key, kv_plane, keys);
  return place;
}

/// What blocks that own keys load of their tiles, in bytes and as formulas of the rows.
struct KeyBlockLoads {
  Bytes queries;                    // of Q, and as many of dO
  Bytes keys;                       // of K, and as many of V
  std::optional<Bytes> statistics;  // of L, and as many of D; none: those of whole tiles
  std::string query_rows, key_rows;
};
/// Returns the closed form of a program whose blocks own keys and add dQ in HBM: a launch for D and zeros, the blocks, a
/// conversion.
inline ClosedForm added_gradients_form(const AttentionProblem& problem, const TileShape& tile, const KeyBlockLoads& loads) {
  const VisitSums sums = visit_sums(problem, tile);
  const std::int64_t planes = problem.query_planes(), sum_row = problem.head_dim * 4;
  const std::int64_t row = problem.head_dim * element_bytes(problem.dtype);
  const Bytes all(planes * problem.seq_q * row), gradient(problem.kv_planes() * problem.seq_kv * row);
  const Bytes every = loads.statistics.value_or(Bytes(statistic_bytes(problem, tile, Crossings::every_pair)));
  const std::string visits = formula_for(problem, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  ClosedForm form;
  form.terms = {
      {tensors::q, Link::l2_to_sm, loads.queries, "B·Hq·d·e·" + loads.query_rows},
      {tensors::k, Link::l2_to_sm, loads.keys, "B·Hkv·" + loads.key_rows + "·d·e"},
      {tensors::v, Link::l2_to_sm, loads.keys, "B·Hkv·" + loads.key_rows + "·d·e"},
      {tensors::o, Link::l2_to_sm, all, "B·Hq·Nq·d·e"},
      {tensors::d_o, Link::l2_to_sm, all + loads.queries, "B·Hq·d·e·(Nq + " + loads.query_rows + ")"},
      {tensors::lse, Link::l2_to_sm, every, statistic_formula(problem, tile, "B·Hq·4·" + visits)},
      {tensors::row_dot, Link::l2_to_sm, every, statistic_formula(problem, tile, "B·Hq·4·" + visits)},
      {tensors::row_dot, Link::sm_to_l2, Bytes(statistic_bytes(problem, tile, Crossings::once)),
       statistic_formula(problem, tile, "B·Hq·Nq·4")},
      {tensors::d_q_acc, Link::l2_to_sm, Bytes(planes * problem.seq_q * sum_row), "B·Hq·Nq·d·4"},
      {tensors::d_q_acc, Link::sm_to_l2, Bytes(planes * (problem.seq_q + sums.rows_pairs) * sum_row),
       "B·Hq·d·4·(Nq + " + visits + ")"},
      {tensors::d_q, Link::sm_to_l2, all, "B·Hq·Nq·d·e"},
      {tensors::d_k, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
      {tensors::d_v, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
  };
  form.reduced = Bytes(planes * sums.rows_pairs * sum_row);
  form.flops = planes * 10 * problem.head_dim * sums.rows_keys;
  form.exps = planes * sums.rows_keys;
  form.order = "Θ(N²d²/M)";
  return form;
}

inline constexpr std::int64_t lane_bytes = 16;
/// How a block of a row launch takes its rows. Each thread asks for 16 bytes of each tensor, passes them through dependent
/// shuffles, and only then asks for the next: the loops are compiled that way.
struct RowSteps {
  std::int64_t rounds = 1;       // of the loads
  std::int64_t round_trips = 0;  // of all shuffles
};
inline RowSteps row_steps(std::int64_t rows, std::int64_t row_bytes, const KernelNeeds& needs, std::int64_t shuffles) {
  const std::int64_t steps = ceil_div(rows * row_bytes, lane_bytes * needs.threads);
  return {steps, steps * shuffles};
}

/// Emits D = rowsum(dO ∘ O) for the `rows` rows of a block.
struct RowDotLines {
  LineId load_o, load_d_o, dot, store;
};
inline void emit_row_dot(BlockBuilder& b, const RowDotLines& lines, const AttentionProblem& problem, const KernelNeeds& needs,
                         std::int64_t rows) {
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  const auto lanes = static_cast<std::uint64_t>(ceil_div(row_bytes, lane_bytes));  // of a row, which add in a tree
  const RowSteps steps = row_steps(rows, row_bytes, needs, std::bit_width(lanes - 1));
  constexpr std::int64_t tensors_at_once = 2;
  for (const auto& [line, tile] : {std::pair{lines.load_o, tiles::o}, std::pair{lines.load_d_o, tiles::d_o}}) {
    b.load(line, tile);
    b.in_rounds(steps.rounds);
    b.asked_at_once(tensors_at_once * warp_lanes * lane_bytes / element_bytes(problem.dtype));
  }
  b.copy(lines.dot, tiles::d_o_o, tiles::d_o);
  b.multiply(lines.dot, tiles::d_o_o, tiles::o);
  b.row_sum(lines.dot, tiles::row_dot, ChipTile::none, tiles::d_o_o, ChipTile::none);
  b.overhead({.shared_round_trips = static_cast<int>(steps.round_trips)});
  b.store(lines.store, tiles::row_dot);
}

/// Emits a block of the first or the last of added_gradient_launches(): D and the zeros of dQ_acc, or dQ from its sums.
/// `converting`: how the latter takes its rows.
template <class Line>
void emit_added_gradient_rows(BlockBuilder& b, bool converts, const AttentionProblem& problem, const KernelNeeds& needs,
                              std::int64_t rows, const RowSteps& converting) {
  if (!converts) {
    emit_row_dot(b, {Line::load_o, Line::load_d_o_once, Line::row_dot, Line::store_row_dot}, problem, needs, rows);
    b.fill(Line::zero, tiles::d_q_acc, 0.0F);
    b.store(Line::store_zero, tiles::d_q_acc);
    return;
  }
  b.load(Line::load_sum, tiles::d_q_acc);
  b.in_rounds(converting.rounds);
  b.copy(Line::convert, tiles::d_q, tiles::d_q_acc);
  b.overhead({.shared_round_trips = static_cast<int>(converting.round_trips)});
  b.store(Line::store_d_q, tiles::d_q);
}

/// Returns the tiles that emit_key_gradients() keeps in shared memory. P and dS of a warp's keys go from its registers to the
/// products, unless two warps share the keys, or all warps need dS.
inline TileSet key_block_tiles(const KernelNeeds& needs, bool all_need_d_s) {
  TileSet chip_tiles = tile_bits(tiles::q_ring, tiles::k_kept, tiles::v_kept, tiles::d_o_ring);
  if (needs.warps_sharing_rows > 1) chip_tiles |= tile_bits(tiles::p_kept, tiles::d_s);
  if (all_need_d_s) chip_tiles |= tile_bits(tiles::d_s);
  return chip_tiles;
}

/// What happens to the scores of a pair of tiles before the softmax, and to their gradient after it: nothing.
struct PlainScores {
  /// Returns the operation that the loads of a tile wait for; -1: none.
  std::int32_t after() const { return -1; }
  void change(BlockBuilder&) const {}          // S
  void chain_gradient(BlockBuilder&) const {}  // dP, once it is multiplied by P
};

/// Queries and keys that a warp takes at a time: it reads Q and dO once for each 32 keys of a tile, K and V once for each 32
/// queries.
inline constexpr std::int64_t warp_edge = 32;

/// What a block does alike for every pair of tiles.
struct PairWork {
  float scale = 1;
  std::int64_t query_reads = 1, key_reads = 1;
  // Where several warps share keys, each reads the parts of P and dS that another made.
  std::int64_t made_by_others = 0;
  // In how many parts exponentials and dS go to their products: halves of the queries that the compiler interleaves, or warps of a
  // sub-partition that drift apart.
  int slices = 1;
  Overhead overhead;
};
/// `step` names the overhead in the profile of the kernel `id`.
inline PairWork pair_work(std::string_view id, std::string_view step, const BlockPlan& plan, const KernelNeeds& needs, int slices) {
  const AttentionProblem& problem = plan.grid.problem;
  return {plan.scale,
          ceil_div(plan.grid.tile.block_kv, warp_edge),
          ceil_div(plan.grid.tile.block_q, warp_edge),
          std::int64_t{needs.warps_sharing_rows} - 1,
          slices,
          kernel_profile(id).overhead("gradients", step, problem)};
}

/// Returns the form of dSK = τ dS K of a block that owns keys. A warp computes 32 queries and 32 columns from all keys of the tile.
inline ProductForm added_product(const BlockPlan& plan) {
  return {.factor = plan.scale,
          .left_reads = ceil_div(plan.grid.problem.head_dim, warp_edge),
          .right_reads = ceil_div(plan.grid.tile.block_q, warp_edge)};
}

/// The listing lines of emit_key_gradients().
struct KeyGradientLines {
  LineId load_q, load_stats, scores, mask, exp, load_d_o, d_v, d_p, subtract, d_s, d_k;
};
/// Emits what one query tile adds to dK and dV of a block; P is recomputed from L. `with_d_s` emits further uses of dS before dK.
template <class WithGradient, class Scores = PlainScores>
void emit_key_gradients(BlockBuilder& b, const KeyGradientLines& lines, const PairWork& work, bool masked,
                        const WithGradient& with_d_s, const Scores& change = {}) {
  const ProductForm of_pairs{.transpose = true, .left_reads = work.query_reads, .right_reads = work.key_reads};
  const ProductForm of_keys{
      .accumulate = true, .transpose_left = true, .left_reads = work.made_by_others, .right_reads = work.query_reads};
  ProductForm scores = of_pairs, d_k = of_keys;
  scores.factor = d_k.factor = work.scale;
  b.load(lines.load_q, tiles::q_ring, change.after());
  b.load(lines.load_stats, tiles::lse, change.after());
  b.load(lines.load_stats, tiles::row_dot, change.after());
  b.matmul(lines.scores, tiles::s, tiles::q_ring, tiles::k_kept, scores);
  b.overhead(work.overhead);
  const std::int32_t scored = b.latest();
  change.change(b);
  if (masked) b.mask(lines.mask, tiles::s);
  b.exp(lines.exp, tiles::p, tiles::s, tiles::lse);
  b.in_slices(work.slices);
  b.copy(lines.exp, tiles::p_kept, tiles::p);
  b.load(lines.load_d_o, tiles::d_o_ring, change.after());
  b.pace_loads(scored);  // the kernel asks for the next tile after the scores
  b.matmul(lines.d_v, tiles::d_v, tiles::p_kept, tiles::d_o_ring, of_keys);
  b.matmul(lines.d_p, tiles::d_p, tiles::d_o_ring, tiles::v_kept, of_pairs);
  b.subtract_rows(lines.subtract, tiles::d_p, tiles::row_dot);
  b.multiply(lines.d_s, tiles::d_p, tiles::p);
  b.in_slices(work.slices);
  change.chain_gradient(b);
  b.copy(lines.d_s, tiles::d_s, tiles::d_p);
  with_d_s();
  b.matmul(lines.d_k, tiles::d_k, tiles::d_s, tiles::q_ring, d_k);
}

/// The listing lines of emit_query_gradients().
struct QueryGradientLines {
  LineId load_k, scores, mask, exp, load_v, d_p, subtract, d_s, d_q;
};
/// Emits what one key tile adds to dQ of a block that owns queries.
template <class Scores = PlainScores>
void emit_query_gradients(BlockBuilder& b, const QueryGradientLines& lines, const PairWork& work, bool masked,
                          const Scores& change = {}) {
  const ProductForm of_pairs{.transpose = true, .left_reads = work.query_reads, .right_reads = work.key_reads};
  ProductForm scores = of_pairs;
  scores.factor = work.scale;
  b.load(lines.load_k, tiles::k, change.after());
  b.matmul(lines.scores, tiles::s, tiles::q, tiles::k, scores);
  b.overhead(work.overhead);
  const std::int32_t scored = b.latest();
  change.change(b);
  if (masked) b.mask(lines.mask, tiles::s);
  b.exp(lines.exp, tiles::p, tiles::s, tiles::lse);
  b.in_slices(work.slices);
  b.load(lines.load_v, tiles::v, change.after());
  b.pace_loads(scored);
  b.matmul(lines.d_p, tiles::d_p, tiles::d_o, tiles::v, of_pairs);
  b.subtract_rows(lines.subtract, tiles::d_p, tiles::row_dot);
  b.multiply(lines.d_s, tiles::d_p, tiles::p);
  b.in_slices(work.slices);
  change.chain_gradient(b);
  b.copy(lines.d_s, tiles::d_s, tiles::d_p);
  b.matmul(lines.d_q, tiles::d_q, tiles::d_s, tiles::k, {.accumulate = true, .factor = work.scale, .right_reads = work.key_reads});
}

/// The tile that a block of a launch of both kinds owns: along an axis, on a plane of that axis.
struct GradientWork {
  Axis axis = Axis::key;
  std::int64_t plane = 0, tile = 0;
};
/// Returns the work of a block of such a launch. For each key head the blocks that own keys come first, then those that own rows of
/// its query heads, as in FlexAttention's kernel.
inline GradientWork gradient_work(const TileGrid& grid, std::int64_t block) {
  const std::int64_t each = grid.key_tiles + grid.problem.heads_of_kv_head() * grid.query_tiles;
  const std::int64_t kv_plane = block / each, x = block % each;
  if (x < grid.key_tiles) return {Axis::key, kv_plane, x};
  const std::int64_t n = x - grid.key_tiles;
  return {Axis::query, grid.problem.first_query_plane_of(kv_plane) + n / grid.query_tiles, n % grid.query_tiles};
}

/// Returns the slice that a block of such a launch owns.
inline Domain gradient_domain(const TileGrid& grid, std::int64_t block) {
  const GradientWork work = gradient_work(grid, block);
  return BlockPlan::along(work.axis, work.plane, work.axis == Axis::key ? grid.keys(work.tile) : grid.queries(work.tile));
}

}  // namespace tilescope
