// Handles of the compiled flash2_longest kernels. Each type has its own source file, so that they compile in parallel.
#pragma once

#include "kernels/flash2/flash2_variants.h"

namespace tilescope {

Flash2Variant flash2_longest_fp16_d64(bool causal);
Flash2Variant flash2_longest_fp16_d128(bool causal);
Flash2Variant flash2_longest_bf16_d64(bool causal);
Flash2Variant flash2_longest_bf16_d128(bool causal);

}  // namespace tilescope
