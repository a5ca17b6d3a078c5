// flash2_descending for bf16.
#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2_descending/flash2_descending_variants.h"

namespace tilescope {

namespace {

template <int d, bool causal>
Flash2Variant variant() {
  return device::flash2_variant<device::bfloat_type, d, causal, device::NoProbe, device::KeyTileOrder::descending>();
}

}  // namespace

Flash2Variant flash2_descending_bf16_d64(bool causal) {
  return causal ? variant<64, true>() : variant<64, false>();
}

Flash2Variant flash2_descending_bf16_d128(bool causal) {
  return causal ? variant<128, true>() : variant<128, false>();
}

}  // namespace tilescope
