// flash2_descending: flash2 with the key tiles in descending order, to measure how the order changes HBM traffic.
#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2/flash2_plan.cuh"

namespace tilescope {

namespace {

template <class Type, int d>
Flash2Variant descending(bool causal) {
  using namespace device;
  return causal ? flash2_variant<Type, d, true, NoProbe, KeyTileOrder::descending>()
                : flash2_variant<Type, d, false, NoProbe, KeyTileOrder::descending>();
}

}  // namespace

/// Computes O = softmax(scale * Q K^T + mask) V as flash2 does, but from the last visible key tile down to the first.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   those of flash2
/// Traffic  that of flash2 between L2 and SMs. HBM traffic differs once K and V of the resident heads exceed the L2
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2307.08691, Algorithm 1, in the order of the authors' CUDA kernels
/// New      over flash2: only the order
LaunchPlan plan_flash2_descending(const AttentionProblem& problem, const DeviceTensors& tensors) {
  const bool half = problem.dtype == DataType::fp16, small = problem.head_dim == 64, causal = problem.causal;
  const Flash2Variant variant =
      half ? (small ? descending<device::half_type, 64>(causal) : descending<device::half_type, 128>(causal))
           : (small ? descending<device::bfloat_type, 64>(causal) : descending<device::bfloat_type, 128>(causal));
  return {flash2_launch<device::NoProbe>(variant, problem, tensors, {})};
}

}  // namespace tilescope
