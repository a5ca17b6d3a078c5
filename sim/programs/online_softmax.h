// The online softmax step that flash2 and flex share: from the scores of a key tile to the new m, l and O.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"

namespace tilescope {

/// Returns the probability that the maximum of one of a warp's rows grows, if that of a row grows with `probability`.
inline double some_row_moves(double probability, std::int64_t block_q) {
  constexpr double warps = 4;
  const double rows = std::max(1.0, static_cast<double>(block_q) / warps);
  return 1 - std::pow(1 - probability, rows);
}
/// Estimates the share of `tiles` in which the kernel rescales O: a warp skips it unless the maximum of one of its rows grew. With
/// exchangeable scores, the maximum of the first j tiles lies in the j-th with probability 1 / j.
inline double moved_share(std::int64_t block_q, std::int64_t tiles) {
  double sum = 0;
  for (std::int64_t j = 1; j <= tiles; ++j) sum += some_row_moves(1.0 / static_cast<double>(j), block_q);
  return tiles > 0 ? sum / static_cast<double>(tiles) : 1;
}
/// Returns a share as BlockBuilder::executes() takes it.
inline int in_eighths(double share) {
  return static_cast<int>(std::lround(8 * share));
}

/// Slices in which P V consumes P: the kernel computes the exponentials of one while the products of the one before run. A tile of
/// 128 keys has eight of 16 keys.
inline constexpr int slices_of_p = 8;

struct OnlineSoftmaxLines {
  LineId row_max, exp, alpha, row_sum, rescale, load_v, weigh, keep_max;
};
/// Emits the step. V is loaded after operation `after`; -1: at once.
inline void emit_online_softmax(BlockBuilder& b, const OnlineSoftmaxLines& lines, int moved, std::int32_t after = -1) {
  b.row_max(lines.row_max, tiles::m_new, tiles::m, tiles::s);
  b.exp(lines.exp, tiles::p, tiles::s, tiles::m_new);
  b.in_slices(slices_of_p);
  b.exp_rows(lines.alpha, tiles::alpha, tiles::m, tiles::m_new);
  b.row_sum(lines.row_sum, tiles::l, tiles::l, tiles::p, tiles::alpha);
  b.in_slices(slices_of_p);
  b.rescale(lines.rescale, tiles::o, tiles::alpha);
  b.executes(moved);
  b.load(lines.load_v, tiles::v, after);
  b.matmul(lines.weigh, tiles::o, tiles::p, tiles::v, {.accumulate = true});
  b.copy(lines.keep_max, tiles::m, tiles::m_new);
}

}  // namespace tilescope
