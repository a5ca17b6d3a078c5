// What the functions of expressions cost in the flex kernels, as counted for kernels/lab/measured/. The table is generated at build
// time (cmake/function_costs.awk).
#pragma once

#include <span>
#include <string_view>

#include "sim/masks/element_cost.h"

namespace tilescope {

/// The instructions of a function for each score.
/// Source  kernels/lab/function_costs.py, in the machine code for sm_90a
struct FunctionCost {
  std::string_view function;  // "exp"
  ElementCost cost;
};
std::span<const FunctionCost> function_costs();

/// Returns the FP32 instructions that a score c·tanh(s/c) saves against its tanh, because the scale of the softmax has the factor.
double softcap_saving();

}  // namespace tilescope
