// The builds of flex that its profile describes: without expressions, and with a causal mask. The program compiles its own instead.
#include "kernels/flex/flex_default.cuh"
#include "kernels/flex/flex_kernel.cuh"

namespace tilescope::device {

template <class T, int d, bool causal>
__global__ void __launch_bounds__(128, 2) flex_kernel(const __grid_constant__ FlexArguments arguments) {
  flex_attention<FlexShape<T, d, NoScore, typename MaskOf<causal>::Type, d / 64, false>>(arguments);
}

TILESCOPE_FLEX_BUILDS(flex_kernel, FlexArguments);

}  // namespace tilescope::device
