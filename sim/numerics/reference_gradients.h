// The float64 reference of the backward pass: gradients straight from the definition, with nothing tiled about it.
#pragma once

#include <vector>

#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// Gradients of one query plane; dK and dV are this plane's part of those of its key head.
struct ReferenceGradients {
  std::vector<double> d_q;       // [seq_q, head_dim]
  std::vector<double> d_k, d_v;  // [seq_kv, head_dim]
  std::vector<double> d_p, d_s;  // [seq_q, seq_kv]; 0 where the key is not visible
  std::vector<double> row_dot;   // [seq_q]
};

/// Equation  dV = Pᵀ dO, dP = dO Vᵀ, D = rowsum(P∘dP), dS = P∘(dP − D), dQ = τ dS K, dK = τ dSᵀ Q
/// Source    arXiv:2205.14135, appendix B.2; D is the sum over all keys, not yet rowsum(dO∘O)
ReferenceGradients reference_gradients(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane);

/// One plane of a gradient, of D or of the sums that a gradient is added up in, rounded once.
/// Limits  tensors that are gradients, or mean row_dot
Matrix reference_gradient_plane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane, Tensor tensor);

}  // namespace tilescope
