// Copies of K and V for a cluster of blocks that work on neighbouring query tiles of one head. Each block loads its part of every
// tile and has TMA write it to all of them:
//
//     block 0   rows 0 to 63    ──┬─► K of block 0, K of block 1
//     block 1   rows 64 to 127  ──┘                                 "full" of each block counts the bytes of both parts
//
//   A part lands in every block, so a producer waits until the consumer warps of all blocks have read the buffer.
#pragma once

#include "kernels/hopper_producer/hopper_roles.cuh"

namespace tilescope::device {

/// Returns this block's number in its cluster.
__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Synchronises all threads of the cluster that have not ended.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}
/// Arrives at the barrier that has this address in block `rank`. `fenced`: publishes this thread's earlier writes to that block.
/// The compiler makes a MEMBAR.ALL.GPU of that. A reader of a buffer has no writes to publish.
template <bool fenced>
__device__ __forceinline__ void barrier_arrive_at(std::uint32_t barrier, int rank) {
  if constexpr (fenced)
    asm volatile(
        "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
        "[there]; }" ::"r"(barrier),
        "r"(rank)
        : "memory");
  else
    asm volatile(
        "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(
            barrier),
        "r"(rank)
        : "memory");
}
/// Waits for a phase that other blocks arrive at, and acquires what they published.
__device__ __forceinline__ void barrier_wait_for_cluster(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{ .reg .pred done; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1; @done bra over; bra "
      "again; "
      "over: }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
/// Starts the load of a box of one panel to the same address in every block of `blocks`, a bit each. Each block's barrier at the
/// address `barrier` counts its own bytes.
__device__ __forceinline__ void load_panel_to_cluster(std::uint32_t shared, const CUtensorMap* map, std::uint32_t barrier, int row,
                                                      int panel, int plane, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, "
      "%6}], "
      "[%2], %7;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(panel), "r"(plane), "h"(blocks)
      : "memory");
}

template <int blocks, bool fenced>
struct ClusterCopies {
  static __device__ __forceinline__ void await_room(std::uint32_t empty, std::uint32_t parity) {
    if constexpr (fenced)
      barrier_wait_for_cluster(empty, parity);
    else
      barrier_wait(empty, parity);
  }
  template <class Shape>
  static __device__ __forceinline__ void load(std::uint32_t to, const CUtensorMap* map, std::uint32_t full, int row, int plane) {
    const int first = cluster_rank() * Shape::box_rows;
#pragma unroll
    for (int panel = 0; panel < Shape::d / panel_elements; ++panel)
      load_panel_to_cluster(to + panel * Shape::kv_panel_bytes + first * panel_row_bytes, map, full, row + first, panel, plane,
                            (1 << blocks) - 1);
  }
  static __device__ __forceinline__ void release(std::uint32_t empty, int lane) {
    __syncwarp();
    if (lane < blocks) barrier_arrive_at<fenced>(empty, lane);
  }
};

/// How the blocks of a cluster copy K and V: each all of it, or each its part for all. Then the tokens of free buffers cross the
/// cluster, with or without a fence.
enum class ClusterKeys { own, shared_with_fences, shared };

/// Shape of a block in a cluster of `blocks`. All kinds of copies have the same schedule.
template <class Base, int blocks, ClusterKeys keys>
struct ClusterShape : Base {
  using Copies = ClusterCopies<blocks, keys == ClusterKeys::shared_with_fences>;
  static constexpr int cluster = blocks, box_rows = Base::bc / blocks;
  static constexpr int key_releases = blocks * Base::key_releases, value_releases = blocks * Base::value_releases;
  static_assert(Base::bc % blocks == 0 && box_rows % 8 == 0);  // a part begins where the swizzle pattern does
};
template <class Base, int blocks>
struct ClusterShape<Base, blocks, ClusterKeys::own> : Base {
  static constexpr int cluster = blocks, box_rows = Base::bc;
};

}  // namespace tilescope::device
