// Device code of hopper_persistent: as many blocks as SMs. The producer runs ahead into the next tile while the consumers still
// finish this one, and O leaves through a buffer of its own, so that Q is free after the last product that reads it.
#pragma once

#include "kernels/hopper_ping_pong/ping_pong.cuh"

namespace tilescope::device {

template <class Shape>
__global__ __launch_bounds__(Shape::threads, 1) void hopper_persistent_kernel(const __grid_constant__ HopperArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const RolesMemory<Shape> memory(shared_address(shared));
  memory.prepare();
  const int tiles = (arguments.seq_q + Shape::br - 1) / Shape::br, total = tiles * arguments.planes;
  auto for_each_tile = [&](auto work) {
    for (int index = blockIdx.x; index < total; index += gridDim.x)
      work(HopperTile<Shape>(arguments, index % tiles, index / tiles));
  };
  take_roles<Shape>(
      [&] {
        Producer<Shape> producer{arguments, memory};
        for_each_tile([&](const HopperTile<Shape>& tile) { producer.load(tile); });
      },
      [&](int group) {
        OverlappedConsumer<Shape, PingPong<Shape::groups>> consumer(arguments, memory, group);
        for_each_tile([&](const HopperTile<Shape>& tile) {
          consumer.visit(tile);
          consumer.store(tile);
        });
        stores_have_read();
      });
#endif
}

}  // namespace tilescope::device
