// Device code of flash2_backward's second launch: one block a key tile. The block itself is in kernels/common/key_gradients.cuh.
#pragma once

#include "kernels/common/gradient_variants.h"
#include "kernels/common/key_gradients.cuh"

namespace tilescope::device {

/// Grid: key tiles, key heads, batch. With a causal mask the first tile of a head has the most work, so it comes first.
template <class Shape>
__global__ __launch_bounds__(Shape::threads, Shape::min_blocks) void flash2_backward_kernel(const GradientArguments arguments) {
  extern __shared__ __align__(128) char shared[];
  KeyBlock<Shape>(arguments, shared).run(block_x, [&] { return arguments.dq_acc; });
}

template <class T, int d, bool causal>
GradientVariant flash2_backward_variant() {
  using Shape = KeyShape<T, d, causal, true, 1>;
  return {reinterpret_cast<const void*>(&row_dot_kernel<T, d, Shape::br, 1>),
          reinterpret_cast<const void*>(&flash2_backward_kernel<Shape>),
          reinterpret_cast<const void*>(&convert_kernel<T, d, Shape::br>),
          Shape::br,
          Shape::bc,
          row_threads,
          Shape::threads,
          Shape::shared_bytes};
}

}  // namespace tilescope::device
