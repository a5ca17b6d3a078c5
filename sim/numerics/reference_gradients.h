// The float64 reference of the backward pass: gradients computed from their definition, without tiles.
#pragma once

#include <vector>

#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// The gradients of one query plane. dK and dV are this plane's contribution to those of its key head.
struct ReferenceGradients {
  std::vector<double> d_q;       // [seq_q, head_dim]
  std::vector<double> d_k, d_v;  // [seq_kv, head_dim]
  std::vector<double> d_p, d_s;  // [seq_q, seq_kv]; 0 for hidden keys
  std::vector<double> row_dot;   // [seq_q]
};

/// Computes the gradients of one query plane.
/// Equation  dV = Pᵀ dO, dP = dO Vᵀ, D = rowsum(P∘dP), dS = P∘(dP − D), dQ = τ dS K, dK = τ dSᵀ Q
/// Source    arXiv:2205.14135, appendix B.2. D follows its definition, the sum over all keys, instead of rowsum(dO∘O).
ReferenceGradients reference_gradients(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane);

/// Returns one plane of a gradient, of its accumulator, or of D, rounded once.
/// Limits  the tensor is a gradient or means row_dot
Matrix reference_gradient_plane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane, Tensor tensor);

}  // namespace tilescope
