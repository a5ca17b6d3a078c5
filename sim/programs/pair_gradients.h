// What a pair of tiles adds to dK and dV, or to dQ: the arithmetic that the blocks of backward programs share.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/programs/backward_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/kernel_profile.h"

namespace tilescope {

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

  /// Returns the form of S and dP: queries times keys.
  ProductForm of_pairs() const { return {.transpose = true, .left_reads = query_reads, .right_reads = key_reads}; }
  /// Returns the form of what is added to dV and dK.
  ProductForm of_keys() const {
    return {.accumulate = true, .transpose_left = true, .left_reads = made_by_others, .right_reads = query_reads};
  }
  /// Returns the form of what is added to dQ of a block that owns queries.
  ProductForm of_queries() const { return {.accumulate = true, .factor = scale, .right_reads = key_reads}; }
};
/// `step` names the overhead in the profile of the kernel `id`.
PairWork pair_work(std::string_view id, std::string_view step, const BlockPlan& plan, const KernelNeeds& needs, int slices);

/// Returns the form of dSK = τ dS K of a block that owns keys. A warp computes 32 queries and 32 columns from all keys of the tile.
ProductForm added_product(const BlockPlan& plan);

/// What happens to the scores of a pair of tiles before the softmax, and to their gradient after it: nothing.
struct PlainScores {
  /// Returns the operation that the loads of a tile wait for; -1: none.
  std::int32_t after() const { return -1; }
  void change(BlockBuilder&) const {}          // S
  void chain_gradient(BlockBuilder&) const {}  // dP, once it is multiplied by P
};

/// The listing lines of emit_probabilities().
struct ProbabilityLines {
  LineId scores, mask, exp;
};
/// Emits P of a pair of tiles, made again from L. Returns the product of the scores.
template <class Scores>
std::int32_t emit_probabilities(BlockBuilder& b, const ProbabilityLines& lines, const PairWork& work, ChipTile q, ChipTile k,
                                bool masked, const Scores& change) {
  ProductForm form = work.of_pairs();
  form.factor = work.scale;
  b.matmul(lines.scores, tiles::s, q, k, form);
  b.overhead(work.overhead);
  const std::int32_t scored = b.latest();
  change.change(b);
  if (masked) b.mask(lines.mask, tiles::s);
  b.exp(lines.exp, tiles::p, tiles::s, tiles::lse);
  b.in_slices(work.slices);
  return scored;
}

/// The listing lines of emit_score_gradients().
struct ScoreGradientLines {
  LineId d_p, subtract, d_s;
};
/// Emits dS of a pair of tiles.
template <class Scores>
void emit_score_gradients(BlockBuilder& b, const ScoreGradientLines& lines, const PairWork& work, ChipTile d_o, ChipTile v,
                          const Scores& change) {
  b.matmul(lines.d_p, tiles::d_p, d_o, v, work.of_pairs());
  b.subtract_rows(lines.subtract, tiles::d_p, tiles::row_dot);
  b.multiply(lines.d_s, tiles::d_p, tiles::p);
  b.in_slices(work.slices);
  change.chain_gradient(b);
  b.copy(lines.d_s, tiles::d_s, tiles::d_p);
}

/// Returns the tiles that emit_key_gradients() keeps in shared memory. P and dS of a warp's keys go from its registers to the
/// products, unless two warps share the keys, or all warps need dS.
TileSet key_block_tiles(const KernelNeeds& needs, bool all_need_d_s);

/// The listing lines of emit_key_gradients().
struct KeyGradientLines {
  LineId load_q, load_stats, scores, mask, exp, load_d_o, d_v, d_p, subtract, d_s, d_k;
};
/// Returns the lines of these names of a program's enumeration.
template <class Line>
constexpr KeyGradientLines key_gradient_lines() {
  return {.load_q = Line::load_q,
          .load_stats = Line::load_stats,
          .scores = Line::scores,
          .mask = Line::mask,
          .exp = Line::exp,
          .load_d_o = Line::load_d_o,
          .d_v = Line::d_v,
          .d_p = Line::d_p,
          .subtract = Line::subtract,
          .d_s = Line::d_s,
          .d_k = Line::d_k};
}
/// Emits what one query tile adds to dK and dV of a block. `with_d_s` emits further uses of dS before dK.
template <class WithGradient, class Scores = PlainScores>
void emit_key_gradients(BlockBuilder& b, const KeyGradientLines& lines, const PairWork& work, bool masked,
                        const WithGradient& with_d_s, const Scores& change = {}) {
  b.load(lines.load_q, tiles::q_ring, change.after());
  b.load(lines.load_stats, tiles::lse, change.after());
  b.load(lines.load_stats, tiles::row_dot, change.after());
  const std::int32_t scored =
      emit_probabilities(b, {lines.scores, lines.mask, lines.exp}, work, tiles::q_ring, tiles::k_kept, masked, change);
  b.copy(lines.exp, tiles::p_kept, tiles::p);
  b.load(lines.load_d_o, tiles::d_o_ring, change.after());
  b.pace_loads(scored);  // the kernel asks for the next tile after the scores
  b.matmul(lines.d_v, tiles::d_v, tiles::p_kept, tiles::d_o_ring, work.of_keys());
  emit_score_gradients(b, {lines.d_p, lines.subtract, lines.d_s}, work, tiles::d_o_ring, tiles::v_kept, change);
  with_d_s();
  ProductForm d_k = work.of_keys();
  d_k.factor = work.scale;
  b.matmul(lines.d_k, tiles::d_k, tiles::d_s, tiles::q_ring, d_k);
}

/// The listing lines of emit_query_gradients().
struct QueryGradientLines {
  LineId load_k, scores, mask, exp, load_v, d_p, subtract, d_s, d_q;
};
/// Returns the lines of a program's enumeration that end in `_again`: its blocks that own keys have those without it.
template <class Line>
constexpr QueryGradientLines query_gradient_lines() {
  return {.load_k = Line::load_k_again,
          .scores = Line::scores_again,
          .mask = Line::mask_again,
          .exp = Line::exp_again,
          .load_v = Line::load_v_again,
          .d_p = Line::d_p_again,
          .subtract = Line::subtract_again,
          .d_s = Line::d_s_again,
          .d_q = Line::d_q};
}
/// Emits what one key tile adds to dQ of a block that owns queries.
template <class Scores = PlainScores>
void emit_query_gradients(BlockBuilder& b, const QueryGradientLines& lines, const PairWork& work, bool masked,
                          const Scores& change = {}) {
  b.load(lines.load_k, tiles::k, change.after());
  const std::int32_t scored =
      emit_probabilities(b, {lines.scores, lines.mask, lines.exp}, work, tiles::q, tiles::k, masked, change);
  b.load(lines.load_v, tiles::v, change.after());
  b.pace_loads(scored);
  emit_score_gradients(b, {lines.d_p, lines.subtract, lines.d_s}, work, tiles::d_o, tiles::v, change);
  b.matmul(lines.d_q, tiles::d_q, tiles::d_s, tiles::k, work.of_queries());
}

/// The listing lines of begin_keys() and store_keys().
struct KeyBlockLines {
  LineId init, load_k, load_v, store;
};
/// Begins a block, or a part of it, that owns a key tile. A tile that no query sees is not loaded.
void begin_keys(BlockBuilder& b, const KeyBlockLines& lines, bool is_seen);
/// Stores dK and dV. `id`: the kernel whose profile has the overhead of that.
void store_keys(BlockBuilder& b, const KeyBlockLines& lines, std::string_view id, const AttentionProblem& problem);

}  // namespace tilescope
