// Rounding of float32 values to the element types, one value or a whole tile at a time.
#pragma once

#include "sim/core/attention_problem.h"
#include "sim/numerics/matrix.h"

namespace tilescope {

/// Every value rounded to the nearest of the type, ties to even.
void round_all(DataType type, Matrix& matrix);
/// True where rounding would change nothing at all.
constexpr bool keeps_every_float(DataType type) {
  return type == DataType::fp32;
}

}  // namespace tilescope
