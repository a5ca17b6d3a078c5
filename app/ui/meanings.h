// Tooltip texts of tensors and on-chip tiles.
#pragma once

#include "sim/core/tensor.h"
#include "sim/programs/operation.h"

namespace tilescope {

/// Returns the meaning in the current language; never empty.
const char* meaning_of(Tensor tensor);
const char* meaning_of(ChipTile chip_tile);

}  // namespace tilescope
