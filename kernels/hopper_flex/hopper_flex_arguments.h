// What the host passes to a hopper_flex kernel: one struct by value. NVRTC compiles this file too.
#pragma once

#include "kernels/common/hopper_arguments.h"
#include "kernels/flex/flex_arguments.h"

namespace tilescope::device {

/// `scale` of the base is 1 where a score change has the scale in its text. Toolkits align descriptors to 64 or to 128 bytes: here
/// every compiler finds the rest at the same place.
struct alignas(128) HopperFlexArguments : HopperArguments {
  alignas(128) FlexArguments flex;
};

/// With pages, `k` and `v` are maps of one plane with the rows of all key heads. A box has the rows of a page, and all panels only
/// if a page holds a whole tile.
struct alignas(128) HopperFlexPagedArguments : HopperFlexArguments {
  alignas(128) FlexPages pages;
};

}  // namespace tilescope::device
