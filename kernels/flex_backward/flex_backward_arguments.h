// What the host passes to the gradient launch of flex_backward: one struct by value. NVRTC compiles this file too.
#pragma once

#include "kernels/common/gradient_arguments.h"
#include "kernels/flex/flex_arguments.h"

namespace tilescope::device {

struct FlexBackwardArguments {
  GradientArguments gradients;
  FlexArguments flex;  // lists of key blocks, tables, constants; its tensors stay null
  // The lists by column: which query blocks see a key block.
  const std::int32_t* query_partial_count;  // q_num_blocks       [list planes, list columns]
  const std::int32_t* query_partial;        // q_indices          [list planes, list columns, list rows]
  const std::int32_t* query_full_count;     // full_q_num_blocks
  const std::int32_t* query_full;           // full_q_indices
  int key_tiles_of_block;
};

}  // namespace tilescope::device
