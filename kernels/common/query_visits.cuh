// The query tiles that a block with a key tile visits, and its place in the grid: key tiles, key heads, batch.
#pragma once

#include <cstdint>

#include "kernels/common/gradient_arguments.h"

namespace tilescope::device {

/// The query tiles that pass by a key tile: those that see it, of every query head that reads this key head.
template <class Shape>
struct QueryVisits {
  int first_tile, tiles, group;

  __device__ __forceinline__ QueryVisits(const GradientArguments& arguments, int first_key) {
    const int first_row = Shape::causal ? max(0, first_key - (arguments.seq_kv - arguments.seq_q)) : 0;
    first_tile = first_row / Shape::br;
    tiles = (arguments.seq_q + Shape::br - 1) / Shape::br;
    group = arguments.heads / arguments.kv_heads;
  }
  __device__ __forceinline__ int count() const { return (tiles - first_tile) * group; }
};

/// Returns the key head of the block. It reads the block's indices from the hardware each time, so that no register holds them.
__device__ __forceinline__ std::int64_t key_plane(const GradientArguments& arguments) {
  unsigned head, batch;
  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(head));
  asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(batch));
  return static_cast<std::int64_t>(batch) * arguments.kv_heads + head;
}

/// Returns blockIdx.x, in the same way.
__device__ __forceinline__ int block_x() {
  unsigned x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return static_cast<int>(x);
}

}  // namespace tilescope::device
