// flash2_longest for fp16.
#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2_longest/flash2_longest_variants.h"

namespace tilescope {

namespace {

template <int d, bool causal>
Flash2Variant variant() {
  using namespace device;
  return flash2_variant<half_type, d, causal, NoProbe, KeyTileOrder::ascending, QueryTileOrder::longest_first>();
}

}  // namespace

Flash2Variant flash2_longest_fp16_d64(bool causal) {
  return causal ? variant<64, true>() : variant<64, false>();
}

Flash2Variant flash2_longest_fp16_d128(bool causal) {
  return causal ? variant<128, true>() : variant<128, false>();
}

}  // namespace tilescope
