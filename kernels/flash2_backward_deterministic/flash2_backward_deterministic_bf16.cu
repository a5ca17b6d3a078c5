// flash2_backward_deterministic for bf16.
#include "kernels/flash2_backward_deterministic/flash2_backward_deterministic_kernel.cuh"

namespace tilescope {

GradientVariant flash2_backward_deterministic_bf16(int head_dim, bool causal) {
  using device::bfloat_type;
  if (head_dim == 64)
    return causal ? device::flash2_backward_deterministic_variant<bfloat_type, 64, true>()
                  : device::flash2_backward_deterministic_variant<bfloat_type, 64, false>();
  return causal ? device::flash2_backward_deterministic_variant<bfloat_type, 128, true>()
                : device::flash2_backward_deterministic_variant<bfloat_type, 128, false>();
}

}  // namespace tilescope
