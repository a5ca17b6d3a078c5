// hopper_persistent in clusters: the blocks of a cluster take neighbouring query tiles of one head and visit the same key tiles.
//
//   Under a causal mask all visit those of the last tile. A block whose rows see none of a key tile masks it whole.
#pragma once

#include "kernels/hopper_ping_pong/ping_pong.cuh"
#include "kernels/lab/cluster_copies.cuh"

namespace tilescope::device {

/// The query tiles of a cluster as one tile.
template <class Shape>
struct TogetherShape : Shape {
  static constexpr int br = Shape::cluster * Shape::br;
};

template <class Shape>
__global__ __cluster_dims__(Shape::cluster, 1, 1)
    __launch_bounds__(Shape::threads, 1) void hopper_cluster_kernel(const __grid_constant__ HopperArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Together = TogetherShape<Shape>;
  extern __shared__ __align__(1024) char shared[];
  const RolesMemory<Shape> memory(shared_address(shared));
  memory.prepare();
  cluster_sync();  // a block must not write to one whose barriers are not initialised
  const int rank = cluster_rank(), total = (arguments.seq_q + Together::br - 1) / Together::br * arguments.planes;
  auto for_each_tile = [&](auto work) {
    for (int index = blockIdx.x / Shape::cluster; index < total; index += gridDim.x / Shape::cluster) {
      const auto together = grouped_tile<Together>(arguments, index);
      HopperTile<Shape> tile(arguments, together.first_row / Shape::br + rank, together.plane);
      tile.key_tiles = together.key_tiles;
      work(tile);
    }
  };
  take_roles<Shape>(
      [&] {
        Producer<Shape> producer{.arguments = arguments, .memory = memory};
        for_each_tile([&](const HopperTile<Shape>& tile) { producer.load(tile); });
      },
      [&](int group) {
        OverlappedConsumer<Shape, PingPong<Shape::groups>> consumer(arguments, memory, group);
        for_each_tile([&](const HopperTile<Shape>& tile) {
          consumer.visit(tile);
          consumer.store(tile);
        });
        stores_have_read();
        cluster_sync();  // the other blocks write to this one until they have loaded their last tile
      });
#endif
}

}  // namespace tilescope::device
