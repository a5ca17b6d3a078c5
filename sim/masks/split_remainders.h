// split_remainders: a mask as the kernels compute it.
//
//   (q - kv) % m == 0, a division for each element, becomes q % m == kv % m: one a row, one a key, and a comparison for each
//   element.
#pragma once

#include "sim/masks/expression.h"

namespace tilescope {

/// Returns the mask with each `(q - kv) % m == 0`, also of kv - q, of abs() and with !=, as a comparison of two remainders, where m
/// changes with nothing. Elements, text and columns stay the same.
Expression split_remainders(const Expression& mask);

}  // namespace tilescope
