// The float64 reference: attention straight from its definition, a row at a time, with nothing online about it.
#pragma once

#include <vector>

#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// One query row in float64.
struct ReferenceRow {
  std::vector<double> scores;  // -inf where the mask hides the key
  std::vector<double> probabilities;
  std::vector<double> output;   // empty where the program has no V
  double maximum = 0, sum = 0;  // of the row; the sum is of e^(score - maximum)
  double log_sum_exp = 0;       // -inf where no key is visible
};

/// The rows of one plane. Keeps K and V of the plane, so that a row costs its own arithmetic only, and of that
/// only what the keys asked for take.
class ReferencePlane {
 public:
  ReferencePlane(const TileProgram& program, const InputSource& inputs, std::int64_t plane);
  /// Of attention: Q, K and V are given, S is not.
  ReferencePlane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane);
  /// Equation  p = softmax(scale q K^T + mask), o = p V; a row that sees no key has o = 0 and log_sum_exp = -inf
  ReferenceRow row(std::int64_t query) const { return row(query, problem_.seq_kv); }
  /// The same over the first `keys` keys only, as if there were no others: what an online algorithm must hold after them.
  ReferenceRow row(std::int64_t query, std::int64_t keys) const;

 private:
  void take_keys_and_values();

  AttentionProblem problem_;
  InputSource inputs_;
  std::int32_t plane_;
  bool scores_given_, has_values_, masked_;
  // As they are, in half the room of float64, which a row streams through; k transposed: [head_dim, seq_kv], so that the inner loop
  // of the scores runs along keys.
  std::vector<float> k_, v_;
};

}  // namespace tilescope
