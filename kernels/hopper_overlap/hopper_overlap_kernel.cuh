// Device code of hopper_overlap.
#pragma once

#include "kernels/hopper_overlap/overlapped_consumer.cuh"

namespace tilescope::device {

template <class Shape, class Recorder = NoRoleProbe>
__global__ __launch_bounds__(Shape::threads, 1) void hopper_overlap_kernel(
    const __grid_constant__ typename Recorder::template Launch<HopperArguments> arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const RolesMemory<Shape> memory(shared_address(shared));
  Recorder::block_begins(arguments);
  memory.prepare();
  const HopperTile<Shape> tile(arguments, blockIdx.x, blockIdx.y);
  take_roles<Shape>(
      [&] {
        Producer<Shape, Recorder> producer{
            .arguments = arguments, .memory = memory, .probe = Recorder(arguments, 0, memory.stamps())};
        producer.load(tile);
        producer.probe.role_ends();
      },
      [&](int group) {
        const Recorder probe(arguments, 1 + group, memory.stamps());
        OverlappedConsumer<Shape, NoTurns, Recorder> consumer(arguments, memory, group, probe);
        consumer.visit(tile);
        consumer.store(tile);
        stores_have_read();
        consumer.probe.role_ends();
      });
#endif
}

}  // namespace tilescope::device
