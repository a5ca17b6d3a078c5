// Tiles of a program's input tensors: seeded normal values or a user's matrix, generated on demand.
#pragma once

#include "sim/core/result.h"
#include "sim/core/tensor.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// Returns a tile of Q, K, V or dO, of S for the softmax programs, or of the forward results for a backward program. The bits are
/// those of InputSource::value() for each element.
/// Types  values are rounded to the problem's type, forward statistics to fp32; S is the rounded product of the rounded Q and K
Matrix input_tile(const InputSource& inputs, const AttentionProblem& problem, const TileRef& tile);

/// Checks the user's matrices.
/// Errors  a matrix whose shape is not the problem's: both shapes
Status check(const InputSource& inputs, const AttentionProblem& problem);

}  // namespace tilescope
