// Tiles of the tensors that a program is given: seeded normal values, or a user's matrix; made when asked for, never stored.
#pragma once

#include "sim/core/result.h"
#include "sim/core/tensor.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// The values of one rectangle of Q, K, V, dO, (for the softmax programs) S, or (for a backward program) of what the forward pass
/// left; the same bits as InputSource::value one by one.
/// Types  every value is rounded to the problem's type; S is the rounded product of the rounded Q and K
Matrix input_tile(const InputSource& inputs, const AttentionProblem& problem, const TileRef& tile);

/// Errors  a user's matrix that has another shape than the problem: both shapes.
Status check(const InputSource& inputs, const AttentionProblem& problem);

}  // namespace tilescope
