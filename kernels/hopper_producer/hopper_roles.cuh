// The two roles of a block: a producer, one thread that starts all copies, and consumers, groups of 64 query rows that compute.
//
//   They meet at mbarriers. "full" completes when the bytes of a copy have landed, "empty" when all consumer warps have read them:
//
//     producer   wait k_empty ─► copy K ─► k_full          wait v_empty ─► copy V ─► v_full
//     consumer   wait k_full ─► S = Q K^T ─► k_empty ─► softmax ─► wait v_full ─► O += P V ─► v_empty
#pragma once

#include "kernels/common/hopper_attention.cuh"

namespace tilescope::device {

/// How a tile of K or V comes in and goes: each block copies its own. kernels/lab/cluster_copies.cuh has copies for two blocks.
struct OwnCopies {
  /// Producer: waits until nobody reads the buffer any more.
  static __device__ __forceinline__ void await_room(std::uint32_t empty, std::uint32_t parity) { barrier_wait(empty, parity); }
  template <class Shape>
  static __device__ __forceinline__ void load(std::uint32_t to, const CUtensorMap* map, std::uint32_t full, int row, int plane) {
    load_box(to, map, full, row, plane);
  }
  /// Consumer: announces that this warp has read the buffer.
  static __device__ __forceinline__ void release(std::uint32_t empty, int lane) {
    __syncwarp();
    if (lane == 0) barrier_arrive(empty);
  }
};

/// Shape of a block with a producer group beside the consumers. `own_output` keeps O apart from Q, so that the next Q can come
/// early.
template <class Base, bool own_output = false>
struct RolesShape : Base {
  static constexpr int threads = 128 * (Base::groups + 1), stages = Base::stages;
  using Copies = OwnCopies;
  static constexpr bool has_own_output = own_output;
  // At "full" of a K: the copy; at "empty": the warps.
  static constexpr int key_arrivals = 1, key_releases = 4 * Base::groups, value_releases = 4 * Base::groups;
  // Of 65536 registers. setmaxnreg moves them from the producer to the consumers.
  static constexpr int consumer_registers = Base::groups == 3 ? 160 : 232, producer_registers = Base::groups == 3 ? 32 : 40;
  static constexpr int output_bytes = own_output ? Base::q_bytes : 0;
  static constexpr int barrier_count = 2 * Base::groups + 4 * stages;
  static constexpr int barriers_at = Base::q_bytes + 2 * Base::ring_bytes + output_bytes + Base::lse_bytes;
  static constexpr int shared_bytes = barriers_at + 8 * barrier_count;
};

/// Addresses of the tiles and barriers in shared memory.
template <class Shape>
struct RolesMemory {
  std::uint32_t q, k, v, o, l, q_full, q_empty, k_full, k_empty, v_full, v_empty, end;

  __device__ __forceinline__ explicit RolesMemory(std::uint32_t start)
      : q(start),
        k(q + Shape::q_bytes),
        v(k + Shape::ring_bytes),
        o(Shape::has_own_output ? v + Shape::ring_bytes : q),
        l(v + Shape::ring_bytes + Shape::output_bytes),
        q_full(start + Shape::barriers_at),
        q_empty(q_full + 8 * Shape::groups),
        k_full(q_empty + 8 * Shape::groups),
        k_empty(k_full + 8 * Shape::stages),
        v_full(k_empty + 8 * Shape::stages),
        v_empty(v_full + 8 * Shape::stages),
        end(v_empty + 8 * Shape::stages) {}

  /// Returns what is behind all that the kernel needs: a probe's stamps.
  __device__ __forceinline__ std::uint32_t stamps() const { return q + Shape::shared_bytes; }
  /// Initialises the barriers; synchronises the block.
  __device__ __forceinline__ void prepare() const {
    start(0);
    __syncthreads();
  }
  /// Initialises the barriers on one thread. A __syncthreads must follow.
  __device__ __forceinline__ void start(int thread) const {
    if (threadIdx.x == thread) {
      start_barriers();
      barriers_ready();
    }
  }

 private:
  __device__ __forceinline__ void start_barriers() const {
    for (int i = 0; i < Shape::groups; ++i) barrier_start(q_full + 8 * i, 1), barrier_start(q_empty + 8 * i, 4);
    for (int i = 0; i < Shape::stages; ++i) {
      barrier_start(k_full + 8 * i, Shape::key_arrivals), barrier_start(k_empty + 8 * i, Shape::key_releases);
      barrier_start(v_full + 8 * i, 1), barrier_start(v_empty + 8 * i, Shape::value_releases);
    }
  }
};

/// The producer. `Recorder` hears where its stages end.
template <class Shape, class Recorder = NoRoleProbe>
struct Producer {
  const HopperArguments& arguments;
  const RolesMemory<Shape>& memory;
  RingPlace<Shape::stages> place{};
  std::uint32_t q_round = 0;
  Recorder probe{};

  /// Loads everything that the consumers read for a query tile. Waits only where the ring is full.
  __device__ __forceinline__ void load(const HopperTile<Shape>& tile) {
    for (int j = 0; j < tile.key_tiles; ++j) {
      const int row = (tile.key_tiles - 1 - j) * Shape::bc;
      if (j == 0) load_queries(tile, 0);
      load_part(arguments.k, memory.k, memory.k_full, memory.k_empty, row, tile.kv_plane);
      probe.ended(ProbeStage::copy_k);
      if (j == 0)
        for (int g = 1; g < Shape::groups; ++g) load_queries(tile, g);
      load_part(arguments.v, memory.v, memory.v_full, memory.v_empty, row, tile.kv_plane);
      probe.ended(ProbeStage::copy_v);
      place.next();
    }
    if (tile.key_tiles > 0) ++q_round;
  }
  __device__ __forceinline__ void load_queries(const HopperTile<Shape>& tile, int group) {
    const std::uint32_t full = memory.q_full + 8 * group;
    barrier_wait(memory.q_empty + 8 * group, (q_round & 1) ^ 1);
    probe.ended(ProbeStage::wait_empty);
    // A group without rows computes on what lies there, and stores nothing.
    const bool has_rows = tile.first_row + group * 64 < arguments.seq_q;
    barrier_arrive_expecting(full, has_rows ? Shape::group_bytes : 0);
    if (has_rows) load_box(memory.q + group * Shape::group_bytes, &arguments.q, full, tile.first_row + group * 64, tile.plane);
    probe.ended(ProbeStage::copy_q);
  }
  __device__ __forceinline__ void load_part(const CUtensorMap& map, std::uint32_t ring, std::uint32_t full, std::uint32_t empty,
                                            int row, int plane) {
    Shape::Copies::await_room(empty + 8 * place.stage, place.parity ^ 1);
    probe.ended(ProbeStage::wait_empty);
    barrier_arrive_expecting(full + 8 * place.stage, Shape::kv_bytes);
    Shape::Copies::template load<Shape>(ring + place.stage * Shape::kv_bytes, &map, full + 8 * place.stage, row, plane);
  }
};

/// Consumers that compute whenever their operands are there.
struct NoTurns {
  static constexpr bool are_taken = false;
  __device__ __forceinline__ explicit NoTurns(int) {}
  __device__ __forceinline__ void await() const {}
  __device__ __forceinline__ void pass() const {}
};

/// One consumer group. `Turns` orders the groups' products, `Recorder` hears where stages end.
template <class Shape, class Turns = NoTurns, class Recorder = NoRoleProbe>
struct Consumer {
  const HopperArguments& arguments;
  const RolesMemory<Shape>& memory;
  const int group, warp, lane;
  const Turns turns;
  float scale_log2;
  const std::uint64_t q, k, v;  // descriptors
  RingPlace<Shape::stages> k_place{}, v_place{};
  std::uint32_t q_parity = 0;
  HopperGroup<Shape> work;
  Recorder probe;

  __device__ __forceinline__ Consumer(const HopperArguments& kernel_arguments, const RolesMemory<Shape>& shared, int group_index,
                                      Recorder recorder = {})
      : arguments(kernel_arguments),
        memory(shared),
        group(group_index),
        warp(__shfl_sync(0xffffffffu, threadIdx.x / 32 & 3, 0)),
        lane(threadIdx.x & 31),
        turns(group),
        scale_log2(arguments.scale * log2_e),
        q(wgmma_descriptor(memory.q + group * Shape::group_bytes, 16)),
        k(wgmma_descriptor(memory.k, 16)),
        v(wgmma_descriptor(memory.v, Shape::kv_panel_bytes)),
        probe(recorder) {}

  __device__ __forceinline__ void await_queries() {
    barrier_wait(memory.q_full + 8 * group, q_parity);
    q_parity ^= 1;
    probe.ended(ProbeStage::wait_q);
  }
  /// Lets the producer overwrite Q, where O has a place of its own.
  __device__ __forceinline__ void queries_done() const {
    if constexpr (Shape::has_own_output) OwnCopies::release(memory.q_empty + 8 * group, lane);
  }
  __device__ __forceinline__ void start_scores() {
    barrier_wait(memory.k_full + 8 * k_place.stage, k_place.parity);
    probe.ended(ProbeStage::wait_k);
    turns.await();
    if constexpr (Turns::are_taken) probe.ended(ProbeStage::wait_turn);
    work.start_scores(q, k + k_place.stage * (Shape::kv_bytes >> 4));
    probe.ended(ProbeStage::scores);
  }
  __device__ __forceinline__ void scores_done() {
    pin(work.s);
    probe.ended(ProbeStage::wait_scores);
    Shape::Copies::release(memory.k_empty + 8 * k_place.stage, lane);
    k_place.next();
  }
  __device__ __forceinline__ void start_output() {
    barrier_wait(memory.v_full + 8 * v_place.stage, v_place.parity);
    probe.ended(ProbeStage::wait_v);
    work.start_output(v + v_place.stage * (Shape::kv_bytes >> 4));
    probe.ended(ProbeStage::product);
  }
  __device__ __forceinline__ void output_done() {
    pin(work.o);
    pin(work.p);
    probe.ended(ProbeStage::wait_product);
    Shape::Copies::release(memory.v_empty + 8 * v_place.stage, lane);
    v_place.next();
  }
  __device__ __forceinline__ int first_row(const HopperTile<Shape>& tile) const { return tile.first_row + group * 64; }
  /// Returns the first key tile, from the left, that the group must mask.
  __device__ __forceinline__ int first_masked(const HopperTile<Shape>& tile) const {
    return HopperTile<Shape>::visible_keys(arguments, first_row(tile)) / Shape::bc;
  }
  __device__ __forceinline__ void mask(const HopperTile<Shape>& tile, int key_tile) {
    const int keys = Shape::causal ? first_row(tile) + warp * 16 + 1 + arguments.seq_kv - arguments.seq_q : arguments.seq_kv;
    work.mask(keys - key_tile * Shape::bc, lane);
  }
  __device__ __forceinline__ void softmax(const HopperTile<Shape>& tile, int key_tile) {
    work.softmax(scale_log2);
    if constexpr (Recorder::on) pin(work.s);
    probe.statistics(work, tile.plane, first_row(tile) + warp * 16 + lane / 4, tile.key_tiles - 1 - key_tile, scale_log2);
    probe.ended(ProbeStage::softmax);
  }

  /// Visits the key tiles: product, softmax, product, one after the other.
  __device__ __forceinline__ void visit(const HopperTile<Shape>& tile) {
    work.clear();
    if (tile.key_tiles > 0) await_queries();
    for (int t = tile.key_tiles - 1; t >= 0; --t) {
      start_scores();
      wgmma_wait<0>();
      scores_done();
      if (t >= first_masked(tile)) mask(tile, t);
      softmax(tile, t);
      work.rescale();
      work.round();
      if constexpr (Recorder::on) pin(work.p);
      probe.ended(ProbeStage::rescale);
      start_output();
      wgmma_wait<0>();
      output_done();
    }
    if (tile.key_tiles > 0) queries_done();
  }
  /// Writes the group's rows of O and L.
  __device__ __forceinline__ void store(const HopperTile<Shape>& tile) {
    const std::uint32_t own = memory.o + group * Shape::group_bytes;
    const int row = first_row(tile);
    const bool leader = (threadIdx.x & 127) == 0;
    const std::uint32_t lse = memory.l + group * 64 * 4;
    if (Shape::has_own_output) {  // the store before may still be reading
      if (leader) stores_have_read();
      named_sync(1 + group, 128);
    }
    work.finish(own, lse, scale_log2, warp, lane);
    store_group<Shape>(arguments, own, lse, row, tile.plane, group);
    probe.ended(ProbeStage::store);
  }
};

/// Splits the block into its roles: calls produce() on one thread and consume(group) on the consumer groups.
template <class Shape, class Produce, class Consume>
__device__ __forceinline__ void take_roles(Produce produce, Consume consume) {
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  if (warpgroup == 0) {
    give_registers<Shape::producer_registers>();
    if (threadIdx.x == 0) produce();
  } else {
    take_registers<Shape::consumer_registers>();
    consume(warpgroup - 1);
  }
}

}  // namespace tilescope::device
