// The float64 reference of the backward pass, for the inputs of the tile machine.
#pragma once

#include "sim/core/reference_gradients.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// Computes the gradients of one query plane from seeded or given inputs.
ReferenceGradients reference_gradients(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane);

/// Returns one plane of a gradient, of its accumulator, or of D, rounded once.
/// Limits  the tensor is a gradient or means row_dot
Matrix reference_gradient_plane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane, Tensor tensor);

}  // namespace tilescope
