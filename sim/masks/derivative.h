// The derivatives of a score expression by the score and by what it reads of tables: what a backward pass multiplies the gradient
// by.
#pragma once

#include "sim/masks/expression.h"

namespace tilescope {

/// d f(score, b, h, q, kv) / d score as an expression of its own, by the rules of each operation.
/// A choice has the derivative of what it chooses; min and max that of the operand they give, or half of each where both are equal;
/// the absolute value of 0, floor and int() have 0. That is PyTorch's choice too. Where a part is infinite or NaN the derivative
/// may be NaN, as that of automatic differentiation.
Expression derivative_by_score(const Expression& expression);

/// d f(score, b, h, q, kv) / d table[index] for one read of a table of floats, node `read` of the expression, by the same rules.
/// Where the same element is read elsewhere too, that is another part of its gradient.
Expression derivative_by_read(const Expression& expression, std::int32_t read);

}  // namespace tilescope
