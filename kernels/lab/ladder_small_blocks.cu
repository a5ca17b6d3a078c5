// hopper_wgmma with blocks of one group: as many an SM as its shared memory and registers hold.
#include "kernels/hopper_wgmma/hopper_wgmma_kernel.cuh"
#include "kernels/lab/ladder_variants.h"

namespace tilescope {

namespace {

template <int block_keys, int blocks_per_sm>
LaunchPlan small_blocks(const AttentionProblem& problem, const DeviceTensors& tensors) {
  if (problem.head_dim != 64) return {};
  return {hopper_by_shape(problem, tensors, [&]<class T, int, bool causal>() {
    using namespace device;
    using Shape = WgmmaShape<HopperShape<T, 64, 1, block_keys, 2, causal>, blocks_per_sm, causal>;
    return hopper_kernel<Shape>(&hopper_wgmma_kernel<Shape>, causal ? HopperGrid::grouped : HopperGrid::tiles);
  })};
}

}  // namespace

LaunchPlan three_small_blocks(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return small_blocks<128, 3>(problem, tensors);
}
LaunchPlan five_small_blocks(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return small_blocks<64, 5>(problem, tensors);
}

}  // namespace tilescope
