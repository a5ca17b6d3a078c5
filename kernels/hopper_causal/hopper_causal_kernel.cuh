// Device code of hopper_causal: persistent blocks that draw their tiles, longest first.
#pragma once

#include "kernels/hopper_causal/tickets.cuh"

namespace tilescope::device {

/// `Worker` is the consumer; kernels/lab/ladder_ablations.cu takes simpler ones.
template <class Shape, class Recorder = NoRoleProbe, class Worker = OverlappedConsumer<Shape, PingPong<Shape::groups>, Recorder>>
__global__ __launch_bounds__(Shape::threads, 1) void hopper_causal_kernel(
    const __grid_constant__ typename Recorder::template Launch<HopperArguments> arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const RolesMemory<Shape> memory(shared_address(shared));
  Recorder::block_begins(arguments);
  Tickets<4 * Shape::groups> tickets(memory.end);
  if (threadIdx.x == 0) tickets.start_barriers();
  memory.prepare();
  const int total = (arguments.seq_q + Shape::br - 1) / Shape::br * arguments.planes;
  take_roles<Shape>(
      [&] {
        Producer<Shape, Recorder> producer{
            .arguments = arguments, .memory = memory, .probe = Recorder(arguments, 0, memory.stamps())};
        int index = blockIdx.x;
        tickets.tell(index);
        while (index < total) {
          const int next = draw_ticket(arguments.tickets);  // its latency passes under the loads
          producer.load(grouped_tile<Shape>(arguments, index));
          tickets.tell(index = next);
          producer.probe.ended(ProbeStage::ticket);
        }
        return_tickets(arguments.tickets);
        producer.probe.role_ends();
      },
      [&](int group) {
        const Recorder probe(arguments, 1 + group, memory.stamps());
        Worker consumer(arguments, memory, group, probe);
        for (int index = tickets.hear(consumer.lane); index < total; index = tickets.hear(consumer.lane)) {
          consumer.probe.ended(ProbeStage::ticket);
          const auto tile = grouped_tile<Shape>(arguments, index);
          consumer.visit(tile);
          consumer.store(tile);
        }
        stores_have_read();
        consumer.probe.role_ends();
      });
#endif
}

}  // namespace tilescope::device
