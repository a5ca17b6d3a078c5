// The float64 reference: attention straight from its definition, a row at a time, with nothing online about it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// One query row in float64.
struct ReferenceRow {
  std::vector<double> scores;  // -inf where the mask hides the key
  std::vector<double> probabilities;
  std::vector<double> output;   // empty where there is no V
  double maximum = 0, sum = 0;  // of the row; the sum is of e^(score - maximum)
  double log_sum_exp = 0;       // -inf where no key is visible
};

/// Computes rows of one plane. It keeps K and V of the plane, so a row costs only its own arithmetic.
/// Equation  p = softmax(f(scale q K^T) + mask), o = p V, f the problem's change of scores; a row that sees no key has o = 0 and
/// log_sum_exp = -inf Shapes    k, v [seq_kv, head_dim]; v is empty where the program has none, k where the scores are given Source
/// arXiv:2205.14135, section 2.2
class AttentionReference {
 public:
  enum class Masked : bool { no, yes };
  AttentionReference(AttentionProblem problem, std::int64_t plane, Masked masked, std::span<const float> k,
                     std::span<const float> v);

  /// From a row of Q, over the first `keys` keys only: what an online algorithm must hold after them. `seen` leaves out further
  /// ones, with one entry a key: for programs that visit their tiles in another order.
  ReferenceRow row_of_query(std::int64_t query, std::span<const float> q, std::int64_t keys,
                            const std::vector<bool>* seen = nullptr) const;
  /// The same from a row of S.
  ReferenceRow row_of_scores(std::int64_t query, std::span<const float> scores, std::int64_t keys,
                             const std::vector<bool>* seen = nullptr) const;

 private:
  std::size_t visible(std::int64_t query, std::int64_t keys) const;
  void finish(ReferenceRow& row, std::int64_t query, std::size_t visible, const std::vector<bool>* seen) const;

  AttentionProblem problem_;
  std::int64_t plane_;
  bool masked_;
  // As they are, in half the room of float64, which a row streams through; k transposed: [head_dim, seq_kv], so that the inner loop
  // of the scores runs along keys.
  std::vector<float> k_, v_;
};

}  // namespace tilescope
