// flash2 for bf16, head dimension 128.
#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2/flash2_variants.h"

namespace tilescope {

Flash2Variant flash2_bf16_d128(bool causal) {
  return causal ? device::flash2_variant<device::bfloat_type, 128, true>()
                : device::flash2_variant<device::bfloat_type, 128, false>();
}

}  // namespace tilescope
