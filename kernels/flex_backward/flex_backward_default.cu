// The builds of flex_backward that its profile describes: without expressions, and with a causal mask. The program compiles its own
// instead.
#include "kernels/flex/flex_default.cuh"
#include "kernels/flex_backward/flex_backward_kernel.cuh"

namespace tilescope::device {

template <class T, int d, bool causal>
__global__ void __launch_bounds__(KeyShape<T, d, false, false, 0>::threads, d == 64 ? 2 : 1)
    flex_backward_kernel(const __grid_constant__ FlexBackwardArguments arguments) {
  flex_backward<FlexBackwardShape<T, d, NoScore, typename MaskOf<causal>::Type, NoScore, 2, 1>>(arguments);
}

TILESCOPE_FLEX_BUILDS(flex_backward_kernel, FlexBackwardArguments);

}  // namespace tilescope::device
