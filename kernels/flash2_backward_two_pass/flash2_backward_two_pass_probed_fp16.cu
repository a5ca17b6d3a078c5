// flash2_backward_two_pass for fp16 with the probe compiled in (kernels/common/pair_probe.cuh).
#include "kernels/common/pair_probe.cuh"
#include "kernels/flash2_backward_two_pass/flash2_backward_two_pass_kernel.cuh"

namespace tilescope {

GradientVariant flash2_backward_two_pass_probed_fp16(int head_dim, bool causal) {
  using device::half_type, device::PairProbe;
  if (head_dim == 64)
    return causal ? device::flash2_backward_two_pass_variant<half_type, 64, true, PairProbe>()
                  : device::flash2_backward_two_pass_variant<half_type, 64, false, PairProbe>();
  return causal ? device::flash2_backward_two_pass_variant<half_type, 128, true, PairProbe>()
                : device::flash2_backward_two_pass_variant<half_type, 128, false, PairProbe>();
}

}  // namespace tilescope
