// The float64 reference of the backward pass: gradients computed from their definition, without tiles.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/reference/attention_reference.h"

namespace tilescope {

/// The gradients of one query plane. dK and dV are this plane's contribution to those of its key head.
struct ReferenceGradients {
  std::vector<double> d_q;       // [seq_q, head_dim]
  std::vector<double> d_k, d_v;  // [seq_kv, head_dim]
  std::vector<double> d_p, d_s;  // [seq_q, seq_kv]; 0 for hidden keys
  std::vector<double> row_dot;   // [seq_q]
  /// This plane's contribution to the gradients of captured tables, in the order of ScoreChange::table_gradients().
  std::vector<std::vector<double>> d_tables;
  /// For each of them, the size of the terms that it sums, squared: those of a query added up, those of queries as squares. The
  /// error of D is one for all keys of a query.
  std::vector<double> table_terms;
};

/// Computes the gradients of one query plane from its matrices and the rows of its forward pass.
/// Equation  dV = Pᵀ dO, dP = dO Vᵀ, D = rowsum(P∘dP), dS = P∘(dP − D), dQ = τ dS K, dK = τ dSᵀ Q
///           with a score change f: dT[i] = Σ dS · ∂f/∂T of the scores that read T[i], then dS = dS · f′
/// Shapes    q, d_o [seq_q, head_dim]   k, v [seq_kv, head_dim]
/// Source    arXiv:2205.14135, appendix B.2. D follows its definition, the sum over all keys, instead of rowsum(dO∘O).
ReferenceGradients reference_gradients(const AttentionProblem& problem, std::span<const float> q, std::span<const float> k,
                                       std::span<const float> v, std::span<const float> d_o,
                                       const std::function<ReferenceRow(std::int64_t query)>& forward_row);

}  // namespace tilescope
