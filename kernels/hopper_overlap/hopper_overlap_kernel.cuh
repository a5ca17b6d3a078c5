// Device code of hopper_overlap.
#pragma once

#include "kernels/hopper_overlap/overlapped_consumer.cuh"

namespace tilescope::device {

template <class Shape>
__global__ __launch_bounds__(Shape::threads, 1) void hopper_overlap_kernel(const __grid_constant__ HopperArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const RolesMemory<Shape> memory(shared_address(shared));
  memory.prepare();
  const HopperTile<Shape> tile(arguments, blockIdx.x, blockIdx.y);
  take_roles<Shape>(
      [&] {
        Producer<Shape>{arguments, memory}.load(tile);
      },
      [&](int group) {
        OverlappedConsumer<Shape> consumer(arguments, memory, group);
        consumer.visit(tile);
        consumer.store(tile);
        stores_have_read();
      });
#endif
}

}  // namespace tilescope::device
