// The float64 reference: attention computed from its definition, row by row, without the online softmax.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

class TableRead;  // sim/masks/table_gradient.h

/// One query row in float64.
struct ReferenceRow {
  std::vector<double> scores;  // -inf where the mask hides the key
  std::vector<double> probabilities;
  std::vector<double> slopes;  // the derivative of the score change at each score; empty where it is 1
  /// For each read of a table with a gradient: the element of the table at each key, -1 for none, and the derivative by it.
  struct Read {
    std::vector<std::int64_t> element;
    std::vector<double> factor;
  };
  std::vector<Read> reads;
  std::vector<double> output;   // empty without V
  double maximum = 0, sum = 0;  // row maximum, and the row sum of e^(score - maximum)
  double log_sum_exp = 0;       // -inf if no key is visible
};

/// Computes rows of one plane. It keeps K and V of the plane, so that each row costs only its own arithmetic.
/// Equation  p = softmax(f(scale q K^T) + mask), o = p V, with f the problem's score change.
///           A row that sees no key has o = 0 and log_sum_exp = -inf.
/// Shapes    k, v [seq_kv, head_dim]. v is empty if the program has no V, k if the scores are inputs.
/// Source    arXiv:2205.14135, section 2.2
class AttentionReference {
 public:
  enum class Masked : bool { no, yes };
  AttentionReference(AttentionProblem problem, std::int64_t plane, Masked masked, std::span<const float> k,
                     std::span<const float> v);

  /// Computes a row from a row of Q over the first `keys` keys: an online algorithm must hold these values after as many keys.
  /// `seen` has one entry a key and hides the unmarked ones; programs that visit tiles in another order need it.
  ReferenceRow row_of_query(std::int64_t query, std::span<const float> q, std::int64_t keys,
                            const std::vector<bool>* seen = nullptr) const;
  /// Does the same from a row of S.
  ReferenceRow row_of_scores(std::int64_t query, std::span<const float> scores, std::int64_t keys,
                             const std::vector<bool>* seen = nullptr) const;

 private:
  std::size_t visible(std::int64_t query, std::int64_t keys) const;
  /// `row` has the scores before their change.
  ReferenceRow::Read read_of(const TableRead& read, const ReferenceRow& row, std::int64_t query, std::size_t visible) const;
  void finish(ReferenceRow& row, std::int64_t query, std::size_t visible, const std::vector<bool>* seen) const;

  AttentionProblem problem_;
  std::int64_t plane_;
  bool masked_;
  // Kept as float: every row streams through K and V, and float64 would double that traffic.
  // K is transposed to [head_dim, seq_kv], so that the inner loop over the scores runs along the keys.
  std::vector<float> k_, v_;
};

}  // namespace tilescope
