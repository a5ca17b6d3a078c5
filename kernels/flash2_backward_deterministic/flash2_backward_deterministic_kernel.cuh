// Device code of flash2_backward_deterministic's second launch: one block a run of key tiles, with a copy of dQ_acc of its own.
#pragma once

#include "kernels/common/gradient_variants.h"
#include "kernels/common/key_gradients.cuh"

namespace tilescope::device {

/// Grid: runs of key tiles, key heads, batch. The block handles the tiles of its run in order. The lane that adds to an element is
/// the same for every tile, so the additions to it happen in the order of the keys.
template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads, Shape::min_blocks) void flash2_backward_deterministic_kernel(
    const typename Recorder::template Launch<GradientArguments> arguments) {
  extern __shared__ __align__(128) char shared[];
  __shared__ int tile;  // in shared memory, since the gradients take all registers
  if (threadIdx.x == 0) tile = blockIdx.x * arguments.run_tiles;
  const Recorder probe(arguments, 0, threadIdx.x / 32, threadIdx.x % 32);
  probe.mark(0);
  KeyBlock<Shape> block(arguments, shared);
  const volatile int& own = tile;
  do {
    block.run([&] { return own; },
              [&] {
                const std::int64_t rows = static_cast<std::int64_t>(gridDim.z) * arguments.heads * arguments.seq_q;
                return arguments.dq_acc + block_x() * rows * Shape::d;
              },
              probe);
    __syncthreads();  // the stored dK and dV have left the shared memory of K and V
    if (threadIdx.x == 0) ++tile;
    __syncthreads();
  } while (own < min((arguments.seq_kv + Shape::bc - 1) / Shape::bc, (block_x() + 1) * arguments.run_tiles));
  probe.end();
}

template <class T, int d, bool causal, class Recorder = NoProbe>
GradientVariant flash2_backward_deterministic_variant() {
  using Shape = KeyShape<T, d, causal, true, 1>;
  return {reinterpret_cast<const void*>(&row_dot_kernel<T, d, Shape::br, 1, Recorder>),
          reinterpret_cast<const void*>(&flash2_backward_deterministic_kernel<Shape, Recorder>),
          reinterpret_cast<const void*>(&convert_kernel<T, d, Shape::br, Recorder>),
          Shape::br,
          Shape::bc,
          row_threads,
          Shape::threads,
          Shape::shared_bytes};
}

}  // namespace tilescope::device
