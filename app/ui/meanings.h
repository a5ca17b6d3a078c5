// What the letters stand for, in one sentence each, for tooltips.
#pragma once

#include "sim/core/tensor.h"
#include "sim/programs/operation.h"

namespace tilescope {

/// In the language in use; never empty.
const char* meaning_of(Tensor tensor);
const char* meaning_of(Slot slot);

}  // namespace tilescope
