// What an expression costs the flex kernels for each score, in instructions by pipe.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/masks/expression.h"

namespace tilescope {

/// Instructions of one element. fp32: the FMA pipes. alu: comparisons, logic, selection. special: exponentials, reciprocals, roots.
struct ElementCost {
  double fp32 = 0, alu = 0, special = 0;
  double in_calls = 0;  // cycles that a warp alone on its scheduler is in calls, whose results it waits for
  double all() const { return fp32 + alu + special; }
  bool operator==(const ElementCost&) const = default;
};

/// A causal mask: a comparison for the two rows that a lane holds of an mma.sync tile, and a selection of -inf for each element.
inline constexpr ElementCost causal_mask_cost = {.alu = 0.5 + 1};

/// Returns whether the kernels compute a node for each element: it changes with the query and the key, or with the score.
bool is_of_element(const ExprNode& node);
/// Returns whether a node divides floats by a constant: the kernels then multiply. They divide by what changes with the head.
bool divides_by_constant(const Expression& expression, const ExprNode& node);

/// Returns the sines and cosines of an element in groups that the kernels compute together: up to four of one operation, none of
/// which needs another.
std::vector<std::vector<std::int32_t>> sines_together(const Expression& expression);

/// Sums the parts of an expression that the kernels compute for each element: those that change with the query and the key, or with
/// the score. The rest is computed once a block, a row or a key (sim/masks/kernel_source.h). `is_forward`: the softmax takes the
/// factor of a tanh that is the whole change.
/// `gpu` has the time of calls.
/// Source  functions: kernels/lab/measured/h100-flex-functions-2026-11-27.txt, counted in the machine code; other operations: one
///         instruction each, and none for an int that is linear in q and kv, which is a constant of the register
ElementCost element_cost(const Expression& expression, const GpuSpec& gpu, bool is_forward = false);

/// Returns for each node of `slope`, the derivative of `expression`, whether its value needs the node and `expression` does not
/// have it.
std::vector<bool> nodes_beyond(const Expression& slope, const Expression& expression);
/// Returns what the derivative costs beside the expression itself: common parts are computed once.
ElementCost slope_cost(const Expression& slope, const Expression& expression, const GpuSpec& gpu);

}  // namespace tilescope
