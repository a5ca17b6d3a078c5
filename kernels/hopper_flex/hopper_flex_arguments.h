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

}  // namespace tilescope::device
