// Device code of hopper_persistent: as many blocks as SMs. The producer runs ahead into the next tile while the consumers still
// finish this one, and O leaves through a buffer of its own, so that Q is free after the last product that reads it.
#pragma once

#include "kernels/hopper_ping_pong/ping_pong.cuh"

namespace tilescope::device {

template <class Shape, class Recorder = NoRoleProbe>
__global__ __launch_bounds__(Shape::threads, 1) void hopper_persistent_kernel(
    const __grid_constant__ typename Recorder::template Launch<HopperArguments> arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const RolesMemory<Shape> memory(shared_address(shared));
  Recorder::block_begins(arguments);
  memory.prepare();
  const int tiles = (arguments.seq_q + Shape::br - 1) / Shape::br, total = tiles * arguments.planes;
  auto for_each_tile = [&](auto work) {
    for (int index = blockIdx.x; index < total; index += gridDim.x)
      work(HopperTile<Shape>(arguments, index % tiles, index / tiles));
  };
  take_roles<Shape>(
      [&] {
        Producer<Shape, Recorder> producer{
            .arguments = arguments, .memory = memory, .probe = Recorder(arguments, 0, memory.stamps())};
        for_each_tile([&](const HopperTile<Shape>& tile) { producer.load(tile); });
        producer.probe.role_ends();
      },
      [&](int group) {
        const Recorder probe(arguments, 1 + group, memory.stamps());
        OverlappedConsumer<Shape, PingPong<Shape::groups>, Recorder> consumer(arguments, memory, group, probe);
        for_each_tile([&](const HopperTile<Shape>& tile) {
          consumer.visit(tile);
          consumer.store(tile);
        });
        stores_have_read();
        consumer.probe.role_ends();
      });
#endif
}

}  // namespace tilescope::device
