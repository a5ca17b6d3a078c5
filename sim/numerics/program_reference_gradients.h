// The float64 reference of the backward pass, for the inputs of the tile machine.
#pragma once

#include <map>
#include <utility>

#include "sim/numerics/tile_machine.h"
#include "sim/reference/reference_gradients.h"

namespace tilescope {

/// Computes the gradients of one query plane from seeded or given inputs.
ReferenceGradients reference_gradients(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane);

/// Computes planes of gradients. It keeps those of each head, so that several tensors cost one pass over the scores.
class ReferenceGradientPlanes {
 public:
  ReferenceGradientPlanes(AttentionProblem problem, InputSource inputs)
      : problem_(std::move(problem)), inputs_(std::move(inputs)) {}
  /// Returns one plane of a gradient, of its accumulator, or of D, rounded once.
  /// Limits  the tensor is a gradient or means row_dot
  Matrix plane(std::int64_t plane, Tensor tensor);

 private:
  const ReferenceGradients& of_head(std::int64_t head);

  AttentionProblem problem_;
  InputSource inputs_;
  std::map<std::int64_t, ReferenceGradients> kept_;
};

/// Returns ReferenceGradientPlanes::plane() for whoever reads one plane.
Matrix reference_gradient_plane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane, Tensor tensor);

}  // namespace tilescope
