// flash2 for fp16, head dimension 64.
#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2/flash2_variants.h"

namespace tilescope {

Flash2Variant flash2_fp16_d64(bool causal) {
  return causal ? device::flash2_variant<device::half_type, 64, true>() : device::flash2_variant<device::half_type, 64, false>();
}

}  // namespace tilescope
