// Device code of flash2_backward's second launch: one block a key tile. The block itself is in kernels/common/key_gradients.cuh.
#pragma once

#include "kernels/common/gradient_variants.h"
#include "kernels/common/key_gradients.cuh"

namespace tilescope::device {

/// Grid: key tiles, key heads, batch. With a causal mask the first tile of a head has the most work, so it comes first.
template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads, Shape::min_blocks) void flash2_backward_kernel(
    const typename Recorder::template Launch<GradientArguments> arguments) {
  extern __shared__ __align__(128) char shared[];
  const Recorder probe(arguments, 0, threadIdx.x / 32, threadIdx.x % 32);
  probe.mark(0);
  KeyBlock<Shape>(arguments, shared)
      .run(
          block_x, [&] { return arguments.dq_acc; }, probe);
  probe.end();
}

template <class T, int d, bool causal, class Recorder = NoProbe>
GradientVariant flash2_backward_variant() {
  using Shape = KeyShape<T, d, causal, true, 1>;
  return {reinterpret_cast<const void*>(&row_dot_kernel<T, d, Shape::br, 1, Recorder>),
          reinterpret_cast<const void*>(&flash2_backward_kernel<Shape, Recorder>),
          reinterpret_cast<const void*>(&convert_kernel<T, d, Shape::br, Recorder>),
          Shape::br,
          Shape::bc,
          row_threads,
          Shape::threads,
          Shape::shared_bytes};
}

}  // namespace tilescope::device
