// flash2_backward for fp16.
#include "kernels/flash2_backward/flash2_backward_kernel.cuh"

namespace tilescope {

GradientVariant flash2_backward_fp16(int head_dim, bool causal) {
  using device::half_type;
  if (head_dim == 64)
    return causal ? device::flash2_backward_variant<half_type, 64, true>()
                  : device::flash2_backward_variant<half_type, 64, false>();
  return causal ? device::flash2_backward_variant<half_type, 128, true>()
                : device::flash2_backward_variant<half_type, 128, false>();
}

}  // namespace tilescope
