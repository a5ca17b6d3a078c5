// Device code of flash2_backward_two_pass's second launch: blocks that own keys and blocks that own queries, in one grid.
#pragma once

#include "kernels/common/gradient_variants.h"
#include "kernels/common/query_gradients.cuh"

namespace tilescope::device {

/// Grid: key tiles, then the query tiles of the group's heads; key heads; batch.
template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads, Shape::min_blocks) void flash2_backward_two_pass_kernel(
    const typename Recorder::template Launch<GradientArguments> arguments) {
  extern __shared__ __align__(128) char shared[];
  const Recorder probe(arguments, 0, threadIdx.x / 32, threadIdx.x % 32);
  probe.mark(0);
  const int key_tiles = (arguments.seq_kv + Shape::bc - 1) / Shape::bc, x = blockIdx.x;
  if (x < key_tiles) {
    KeyBlock<Shape>(arguments, shared)
        .run(
            block_x, [] { return nullptr; }, probe);
    return probe.end();
  }
  asm volatile("" ::: "memory");
  probe.tick(0, 1);  // a recorder inside of the block would change the plain kernel's machine code
  QueryBlock<QueryShape<Shape>>(arguments, shared).run(x - key_tiles);
  probe.tick(0, 2);
  probe.end();
}

template <class T, int d, bool causal, class Recorder = NoProbe>
GradientVariant flash2_backward_two_pass_variant() {
  using Shape = KeyShape<T, d, causal, false, 0>;
  constexpr int query_bytes = QueryShape<Shape>::shared_bytes;
  return {reinterpret_cast<const void*>(&row_dot_kernel<T, d, Shape::br, 0, Recorder>),
          reinterpret_cast<const void*>(&flash2_backward_two_pass_kernel<Shape, Recorder>),
          nullptr,
          Shape::br,
          Shape::bc,
          row_threads,
          Shape::threads,
          Shape::shared_bytes > query_bytes ? Shape::shared_bytes : query_bytes};
}

}  // namespace tilescope::device
