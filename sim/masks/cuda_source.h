// An expression as CUDA: one function, one line a node, for a kernel that is compiled at run time.
//
//   q >= kv && q - kv < w     ──►   static __device__ __forceinline__ bool mask(…) {
//                                     const int v0 = q;
//                                     …
//                                     return v6; }
#pragma once

#include <string>
#include <string_view>

#include "sim/masks/expression.h"

namespace tilescope {

/// Returns what the functions below need before them: division and remainder that round down, shifts without undefined counts.
std::string_view cuda_prelude();

/// Returns the function `name(float score, int b, int h, int q, int kv, const ExprSizes& sizes, T const* table, …)`, one pointer a
/// table in the order of the expression's list. It gives what ExpressionEvaluator<float> gives, but clamps indices and takes a
/// division by zero for 0. Sizes are arguments, so another length needs no compilation; floats of a mask are rounded after each
/// operation (compile with -fmad=false).
std::string cuda_source(const Expression& expression, std::string_view name);

/// Returns one operation on operands that stand in the text already. `rounded`: floats as the host has them, each operation rounded
/// by itself. Else tanh and the sigmoid are those of kernels/flex/flex_kernel.cuh, with a bounded error and without branches.
std::string cuda_operation(const ExprNode& node, bool rounded, std::string_view a, std::string_view b, std::string_view c);

}  // namespace tilescope
