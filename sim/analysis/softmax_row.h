// What the softmax microscope shows: one row of the tile at one operation, and the arithmetic of that operation with its numbers.
//
//   m old → m new ── α = e^(m−m′) ──► l old → l new, O before → O after, held against float64 over the keys seen so far
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/numerics/reference.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// One score of the row.
struct RowScore {
  std::int64_t key = 0;
  float value = 0;  // -inf where it is masked
  bool masked = false;
  bool current = false;         // belongs to the key tile that is being worked on
  std::optional<float> weight;  // its entry of P, where P is on chip: e^(s−m′), or the probability once it is divided
};

/// What is known after operation `op`, within the tile iteration that `op` belongs to; a field is absent until it is computed,
/// and where the program has no such thing.
struct SoftmaxRow {
  int op = -1;
  int row = 0;             // of the tile
  std::int64_t query = 0;  // row of Q
  std::int32_t iteration = -1, kv_tile = -1;
  std::int64_t keys_seen = 0;  // of the visible ones, this tile's included once its scores are there

  std::optional<float> m_old, m_tile, m_new;
  std::optional<float> alpha, beta;
  std::optional<float> l_old, l_tile, l_new;
  std::optional<double> tile_sum;  // what this tile adds to l: the sum of its row of P
  std::optional<float> lse;
  std::vector<float> o_before, o_after;
  std::vector<RowScore> scores;  // every key up to and with this tile, in order

  /// O over the keys seen so far by the float64 reference, where one is given and O can be held against it.
  std::vector<double> exact_so_far;
  /// Of O, divided by l where the program does that only at the end; absent between two steps of an update.
  std::optional<double> output_error;
};

/// Limits  op in [-1, operations); row is clamped to the tile
/// Leaves out  where a history is checkpointed, scores of earlier tiles come from the reference when there is one
SoftmaxRow softmax_row(const TileProgram& program, const BlockHistory& history, int op, int row,
                       const ReferencePlane* exact = nullptr);

/// This operation's arithmetic for one row (and one column, where its tile has several): "α = e^(1.204 − 1.871) = 0.513".
/// Limits  row and column are clamped to the tile; an empty text before the first operation
std::string formula_with_numbers(const BlockHistory& history, int op, int row, int col = 0);

}  // namespace tilescope
