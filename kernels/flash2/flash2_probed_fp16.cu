// flash2 for fp16 with the probe compiled in (kernels/common/probe.cuh).
#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2/flash2_variants.h"

namespace tilescope {

Flash2Variant flash2_probed_fp16_d64(bool causal) {
  return causal ? device::flash2_variant<device::half_type, 64, true, device::Probe>()
                : device::flash2_variant<device::half_type, 64, false, device::Probe>();
}

Flash2Variant flash2_probed_fp16_d128(bool causal) {
  return causal ? device::flash2_variant<device::half_type, 128, true, device::Probe>()
                : device::flash2_variant<device::half_type, 128, false, device::Probe>();
}

}  // namespace tilescope
