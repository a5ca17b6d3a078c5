// The builds of hopper_flex that its profile describes: without expressions, and with a causal mask.
#include "kernels/flex/flex_default.cuh"
#include "kernels/hopper_flex/hopper_flex_kernel.cuh"

namespace tilescope::device {

template <class T, int d, bool causal>
__global__ void __launch_bounds__(HopperFlexBase<T, d>::threads, 1)
    hopper_flex_kernel(const __grid_constant__ HopperFlexArguments arguments) {
  hopper_flex_attention<HopperFlexShape<T, d, NoScore, typename MaskOf<causal>::Type, 1, false>>(arguments);
}

TILESCOPE_FLEX_BUILDS(hopper_flex_kernel, HopperFlexArguments);

}  // namespace tilescope::device
