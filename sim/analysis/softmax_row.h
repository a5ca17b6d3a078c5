// SoftmaxRow: the online softmax of one tile row at one operation, and the arithmetic of that operation with its numbers.
//
//   m old → m new ── α = e^(m−m′) ──► l old → l new, O before → O after, compared with float64 over the keys seen so far
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/numerics/program_reference.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// One score of the row.
struct RowScore {
  std::int64_t key = 0;
  float value = 0;  // -inf if masked
  bool masked = false;
  bool current = false;         // belongs to the current key tile
  std::optional<float> weight;  // its entry of P if P is on chip: e^(s−m′), or the probability after the division
};

/// The gradient of the row's scores in this tile: dS = P ∘ (dP − D), times the slope f′ of a score change. A list is empty and D is
/// absent until it is computed.
struct RowGradient {
  std::int64_t first_key = 0;
  ChipTile d_p, p, row_dot, slope, d_s;  // slope: none without a score change
  std::vector<float> d_p_row, p_row, slope_row, d_s_row;
  std::optional<float> d;
};

/// The values of the row after operation `op`, within the tile iteration of `op`. A field is absent until it is computed, or if the
/// program never computes it.
struct SoftmaxRow {
  int op = -1;
  int row = 0;             // row of the tile
  std::int64_t query = 0;  // row of Q
  std::int32_t iteration = -1, kv_tile = -1;
  std::int64_t keys_seen = 0;  // visible keys so far; includes this tile's once their scores are computed

  std::optional<float> m_old, m_tile, m_new;
  std::optional<float> alpha, beta;
  std::optional<float> l_old, l_tile, l_new;
  std::optional<double> tile_sum;  // the sum of the row of P, which this tile adds to l
  std::optional<float> lse;
  std::vector<float> o_before, o_after;  // before: what the latest rescaling found, or what the iteration began with
  std::vector<RowScore> scores;          // all keys up to the end of this tile, in order
  std::optional<RowGradient> gradient;   // of a backward pass

  /// O of the float64 reference over the keys seen so far; empty without a reference, or while O cannot be compared.
  std::vector<double> exact_so_far;
  /// Relative error of O, after dividing it by l if the program does so only at the end. Absent in the middle of an update.
  std::optional<double> output_error;
};

/// Collects the values of one row after operation `op`.
/// Limits      op in [-1, operations); row is clamped to the tile
/// Leaves out  with checkpointed values, scores of earlier tiles come from the reference, or are missing without one
SoftmaxRow softmax_row(const TileProgram& program, const BlockValues& values, int op, int row,
                       const ReferencePlane* exact = nullptr);

/// Returns an operation's arithmetic for one row, and for one column if its tile has several: "α = e^(1.204 − 1.871) = 0.513".
/// Limits  row and column are clamped to the tile; "" before the first operation
std::string formula_with_numbers(const BlockValues& values, int op, int row, int col = 0);

}  // namespace tilescope
