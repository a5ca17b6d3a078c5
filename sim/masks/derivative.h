// The derivative of a score expression by the score: what a backward pass multiplies the gradient by.
#pragma once

#include "sim/masks/expression.h"

namespace tilescope {

/// d f(score, b, h, q, kv) / d score as an expression of its own, by the rules of each operation.
/// A choice has the derivative of what it chooses; min and max that of the operand they give, or half of each where both are equal;
/// the absolute value of 0, floor and int() have 0. That is PyTorch's choice too. Where a part is infinite or NaN the derivative
/// may be NaN, as that of automatic differentiation.
Expression derivative_by_score(const Expression& expression);

}  // namespace tilescope
