// The operators of expressions with two operands, and how tightly operators bind: for the parser and for the printer.
#pragma once

#include <span>
#include <string_view>

#include "sim/masks/expression.h"

namespace tilescope {

/// An operator and how tightly it binds, as in C. The first row of an operation is the one that is printed.
struct BinaryOperator {
  std::string_view symbol;
  int level;
  ExprOp op;
};
std::span<const BinaryOperator> binary_operators();

/// The levels of what has no row: -x, a name or a number, and the operand of `not`.
inline constexpr int unary_level = 11, atom_level = 12, negation_level = 3;

constexpr bool is_comparison(ExprOp op) {
  return op >= ExprOp::equal && op <= ExprOp::greater_equal;
}

}  // namespace tilescope
