// Device code of flash3_backward's second launch: a block owns 128 keys, two groups of 64, and a producer brings the query tiles.
//
//   S and dP are computed transposed, S^T = K Q^T and dP^T = V dO^T, so that P^T and dS^T leave the tensor cores as left operands
//   of dV += P^T dO and dK += dS^T Q. Only dS goes through shared memory: dQ = dS K needs it the other way round, from both groups.
//
//     shared     K, V [2 groups][64,d]   Q, dO rings [2][Br,d]   dS ring [2][2 groups][Br,64]
//                dQ [8 warps][16,64] fp32   L, D [2][Br]
//     registers  dK, dV [64,d] fp32   S^T, then dP^T [64,Br] fp32   P^T, dS^T [64,Br] 16-bit   dQ [64,64] fp32
//
//   A group's step. dQ comes one step late, so that a group rarely waits for the dS of the other:
//
//     tensor cores   S(i)   dQ(i-1)   dP(i)   dV(i)                         dK(i)   S(i+1) …
//     the others            P(i)      dQ(i-1) to shared   dS(i) to shared   add dQ(i-1), in bulk
#pragma once

#include "kernels/common/gradient_tiles.cuh"
#include "kernels/common/hopper_attention.cuh"
#include "kernels/common/query_visits.cuh"
#include "kernels/flash3_backward/flash3_backward_arguments.h"

namespace tilescope::device {

/// Compile-time parameters of one build.
template <class Element, int dim, bool is_causal>
struct Flash3BackwardShape {
  using T = Element;
  static constexpr int d = dim, br = d == 64 ? 128 : 64, groups = 2, bc = 64 * groups, stages = 2;
  static constexpr bool causal = is_causal;
  static constexpr int threads = 128 * (groups + 1), consumer_warps = 4 * groups;
  static constexpr int consumer_registers = 240, producer_registers = 24;
  static constexpr int group_panel_bytes = 64 * panel_row_bytes, q_panel_bytes = br * panel_row_bytes;
  static constexpr int group_bytes = d / 64 * group_panel_bytes, kv_bytes = groups * group_bytes, q_bytes = d / 64 * q_panel_bytes;
  static constexpr int pair_bytes = groups * q_panel_bytes, sum_bytes = 16 * 64 * 4;  // of dS, of a warp's dQ
  static constexpr int stat_pitch = br + 16, stat_bytes = 4 * stat_pitch;  // of the numbers of a quad's lane: see load_stats()
  static constexpr int v_at = kv_bytes, q_at = 2 * kv_bytes, d_o_at = q_at + stages * q_bytes, d_s_at = d_o_at + stages * q_bytes;
  static constexpr int sums_at = d_s_at + stages * pair_bytes, stats_at = sums_at + consumer_warps * sum_bytes;
  static constexpr int barriers_at = stats_at + stages * 2 * stat_bytes;
  static constexpr int shared_bytes = barriers_at + 8 * (2 + 4 * stages);
  static_assert(d == 64 || d == 128);
};

/// Addresses of the tiles and barriers in shared memory.
template <class Shape>
struct Flash3BackwardMemory {
  std::uint32_t start;

  __device__ __forceinline__ std::uint32_t k() const { return start; }
  __device__ __forceinline__ std::uint32_t v() const { return start + Shape::v_at; }
  __device__ __forceinline__ std::uint32_t q(int stage) const { return start + Shape::q_at + stage * Shape::q_bytes; }
  __device__ __forceinline__ std::uint32_t d_o(int stage) const { return start + Shape::d_o_at + stage * Shape::q_bytes; }
  __device__ __forceinline__ std::uint32_t d_s(int stage) const { return start + Shape::d_s_at + stage * Shape::pair_bytes; }
  __device__ __forceinline__ std::uint32_t sums(int warp) const { return start + Shape::sums_at + warp * Shape::sum_bytes; }
  /// L in powers of two, or -D. The queries 8 j + 2 t and + 1 lie one behind the other for each t.
  __device__ __forceinline__ std::uint32_t stats(int stage, bool dots) const {
    return start + Shape::stats_at + (2 * stage + dots) * Shape::stat_bytes;
  }
  __device__ __forceinline__ std::uint32_t k_full() const { return start + Shape::barriers_at; }
  __device__ __forceinline__ std::uint32_t v_full() const { return k_full() + 8; }
  __device__ __forceinline__ std::uint32_t q_full(int stage) const { return k_full() + 16 + 8 * stage; }
  __device__ __forceinline__ std::uint32_t d_o_full(int stage) const { return q_full(Shape::stages + stage); }
  __device__ __forceinline__ std::uint32_t empty(int stage) const { return q_full(2 * Shape::stages + stage); }
  __device__ __forceinline__ std::uint32_t d_s_full(int stage) const { return q_full(3 * Shape::stages + stage); }

  /// Initialises the barriers; synchronises the block.
  __device__ __forceinline__ void prepare() const {
    if (threadIdx.x == 0) {
      barrier_start(k_full(), 1);
      barrier_start(v_full(), 1);
      for (int i = 0; i < Shape::stages; ++i) {
        barrier_start(q_full(i), 1 + 2 * 32);  // the copy of Q, and the lanes that bring L and D
        barrier_start(d_o_full(i), 1);
        barrier_start(empty(i), 32 * Shape::consumer_warps);
        barrier_start(d_s_full(i), Shape::consumer_warps);
      }
      barriers_ready();
    }
    __syncthreads();
  }
};

/// Walks over the query tiles that pass by, head by head. What they have in common is computed again at each step, so that no
/// register holds it.
template <class Shape>
struct QueryWalk {
  int tile, plane;

  static __device__ __forceinline__ QueryVisits<Shape> visits(const GradientArguments& arguments) {
    return QueryVisits<Shape>(arguments, block_x() * Shape::bc);
  }
  __device__ __forceinline__ explicit QueryWalk(const GradientArguments& arguments)
      : tile(visits(arguments).first_tile), plane(static_cast<int>(key_plane(arguments)) * visits(arguments).group) {}
  __device__ __forceinline__ void next(const GradientArguments& arguments) {
    const QueryVisits<Shape> all = visits(arguments);
    if (++tile == all.tiles) tile = all.first_tile, ++plane;
  }
};

/// The three warps of the producer group that work.
template <class Shape>
struct Flash3BackwardProducer {
  const Flash3BackwardArguments& arguments;
  const Flash3BackwardMemory<Shape>& memory;

  /// Copies K and V once, then every Q and dO. One thread.
  __device__ __forceinline__ void copy_tiles() const {
    const int first_key = block_x() * Shape::bc;
    const auto kv_plane = static_cast<int>(key_plane(arguments.tensors));
    barrier_arrive_expecting(memory.k_full(), Shape::kv_bytes);
    for (int g = 0; g < Shape::groups; ++g)
      load_box(memory.k() + g * Shape::group_bytes, &arguments.k, memory.k_full(), first_key + 64 * g, kv_plane);
    QueryWalk<Shape> walk(arguments.tensors);
    RingPlace<Shape::stages> place;
    const int count = walk.visits(arguments.tensors).count();
#pragma unroll 1
    for (int left = count; left > 0; --left, walk.next(arguments.tensors), place.next()) {
      barrier_wait(memory.empty(place.stage), place.parity ^ 1);
      const std::uint32_t q_full = memory.q_full(place.stage), d_o_full = memory.d_o_full(place.stage);
      barrier_arrive_expecting(q_full, Shape::q_bytes);
      load_box(memory.q(place.stage), &arguments.q, q_full, walk.tile * Shape::br, walk.plane);
      if (left == count) {
        barrier_arrive_expecting(memory.v_full(), Shape::kv_bytes);
        for (int g = 0; g < Shape::groups; ++g)
          load_box(memory.v() + g * Shape::group_bytes, &arguments.v, memory.v_full(), first_key + 64 * g, kv_plane);
      }
      barrier_arrive_expecting(d_o_full, Shape::q_bytes);
      load_box(memory.d_o(place.stage), &arguments.d_o, d_o_full, walk.tile * Shape::br, walk.plane);
    }
  }

  /// Brings L in powers of two, or -D. A row that sees no key, or does not exist, gets L = +inf, so that its P is 0. One warp each.
  template <bool dots>
  __device__ __forceinline__ void copy_stats() const {
    const GradientArguments& a = arguments.tensors;
    const int lane = threadIdx.x & 31;
    QueryWalk<Shape> walk(a);
    RingPlace<Shape::stages> place;
#pragma unroll 1
    for (int left = walk.visits(a).count(); left > 0; --left, walk.next(a), place.next()) {
      barrier_wait(memory.empty(place.stage), place.parity ^ 1);
      const int first_row = walk.tile * Shape::br, rows = a.seq_q - first_row;
      const float* const from = (dots ? a.delta : a.lse) + static_cast<std::int64_t>(walk.plane) * a.seq_q + first_row;
      float x[Shape::br / 32];
#pragma unroll
      for (int i = 0; i < Shape::br / 32; ++i) {
        x[i] = dots ? 0.f : minus_infinity();
        if (lane + 32 * i < rows) x[i] = __ldcg(from + lane + 32 * i);
      }
#pragma unroll
      for (int i = 0; i < Shape::br / 32; ++i)
        store_shared(
            memory.stats(place.stage, dots) + (lane >> 1 & 3) * Shape::stat_pitch + ((lane / 8 + 4 * i) * 2 + (lane & 1)) * 4,
            dots                       ? -x[i]
            : x[i] == minus_infinity() ? -x[i]
                                       : x[i] * log2_e);
      barrier_arrive(memory.q_full(place.stage));
    }
  }
};

/// The query tile whose dQ waits to be added.
struct AddedTile {
  int plane, first_row;
};

/// One group of 64 keys.
template <class Shape>
struct GradientGroup {
  using T = typename Shape::T;
  static constexpr int d = Shape::d, br = Shape::br;

  const Flash3BackwardArguments& arguments;
  const Flash3BackwardMemory<Shape>& memory;
  const int group, warp, lane;
  const float scale_log2;
  QueryWalk<Shape> walk;
  RingPlace<Shape::stages> place{};
  float dk[d / 2], dv[d / 2];
  std::uint32_t p[br / 4], ds[br / 4];

  __device__ __forceinline__ GradientGroup(const Flash3BackwardArguments& kernel_arguments,
                                           const Flash3BackwardMemory<Shape>& shared, int group_index)
      : arguments(kernel_arguments),
        memory(shared),
        group(group_index),
        warp(__shfl_sync(0xffffffffu, threadIdx.x / 32 & 3, 0)),
        lane(threadIdx.x & 31),
        scale_log2(arguments.tensors.scale * log2_e),
        walk(arguments.tensors) {
#pragma unroll
    for (int i = 0; i < d / 2; ++i) dk[i] = dv[i] = 0.f;
  }

  // --- products; each starts and commits ---

  /// Starts sums = A B^T, or sums += A B^T: A is a group's 64 rows of K or V, B a tile of Q or dO.
  template <bool fresh>
  __device__ __forceinline__ void start_pair(float (&sums)[br / 2], std::uint32_t keys, std::uint32_t queries) const {
    const std::uint64_t a = wgmma_descriptor(keys + group * Shape::group_bytes, 16), b = wgmma_descriptor(queries, 16);
    wgmma_fence();
    if constexpr (fresh) Wgmma<T, br>::start(sums, a, b);
#pragma unroll
    for (int step = fresh; step < d / 16; ++step) {
      const int panel = step / 4, along = step % 4 * 2;  // a step is 16 elements, 32 bytes; descriptors count 16 bytes
      Wgmma<T, br>::template shared<false>(sums, a + (panel * (Shape::group_panel_bytes >> 4) + along),
                                           b + (panel * (Shape::q_panel_bytes >> 4) + along));
    }
    wgmma_commit();
  }
  /// Starts sums += left B: left is P^T or dS^T in registers, B a tile of dO or Q.
  __device__ __forceinline__ void start_keys(float (&sums)[d / 2], const std::uint32_t (&left)[br / 4],
                                             std::uint32_t queries) const {
    const std::uint64_t b = wgmma_descriptor(queries, Shape::q_panel_bytes);
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < br / 16; ++slice)
      Wgmma<T, d>::registers(sums, left + 4 * slice, b + slice * (16 * panel_row_bytes >> 4));
    wgmma_commit();
  }
  /// Starts the group's part of dQ = dS K: 64 columns (d 128) or 64 rows (d 64).
  __device__ __forceinline__ void start_queries(float (&dq)[32], int stage) const {
    const std::uint64_t a = wgmma_descriptor(memory.d_s(stage) + (d == 64 ? group * Shape::group_panel_bytes : 0), 16);
    const std::uint64_t b = wgmma_descriptor(memory.k() + (d == 128 ? group * Shape::group_panel_bytes : 0), 16);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < Shape::bc / 16; ++step) {
      const int half = step / 4, within = step % 4;
      const std::uint64_t left = a + (half * (Shape::q_panel_bytes >> 4) + within * 2);
      const std::uint64_t right = b + (half * (Shape::group_bytes >> 4) + within * (16 * panel_row_bytes >> 4));
      if (step == 0)
        Wgmma<T, 64>::start_transposed(dq, left, right);
      else
        Wgmma<T, 64>::add_transposed(dq, left, right);
    }
    wgmma_commit();
  }

  // --- the work between them ---

  /// Sets S^T to -inf where the query does not see the key.
  __device__ __forceinline__ void mask(float (&s)[br / 2]) const {
    const int first_key = block_x() * Shape::bc;
    const int keys = arguments.tensors.seq_kv - first_key;
    const int diagonal = walk.tile * br + arguments.tensors.seq_kv - arguments.tensors.seq_q - first_key;
    if (keys >= Shape::bc && !(Shape::causal && diagonal < Shape::bc - 1)) return;
    int first_query[2];  // that sees the lane's key
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int key = group * 64 + warp * 16 + half * 8 + lane / 4;
      first_query[half] = key >= keys ? br : Shape::causal ? key - diagonal - 2 * (lane & 3) : -br;
    }
#pragma unroll
    for (int i = 0; i < br / 2; ++i)
      if (i / 4 * 8 + (i & 1) < first_query[i / 2 & 1]) s[i] = minus_infinity();
  }
  /// Loads L or -D of the lane's queries: before the products start, which leave shared memory little time for others.
  __device__ __forceinline__ void load_stats(float (&x)[br / 4], bool dots) const {
    const std::uint32_t stats = memory.stats(place.stage, dots) + (lane & 3) * Shape::stat_pitch;
#pragma unroll
    for (int i = 0; i < br / 4; i += 4) load_four(x + i, stats + i * 4);
  }
  /// Lets dP^T start from -D.
  __device__ __forceinline__ void subtract_dots(float (&dp)[br / 2]) const {
    float minus_dots[br / 4];
    load_stats(minus_dots, true);
#pragma unroll
    for (int i = 0; i < br / 2; ++i) dp[i] = minus_dots[i / 4 * 2 + (i & 1)];
  }
  /// Turns S^T into P^T, and rounds it to p.
  __device__ __forceinline__ void weigh(float (&s)[br / 2], const float (&offset)[br / 4]) {
#pragma unroll
    for (int t = 0; t < br / 8; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) s[4 * t + i] = exp2_fast(s[4 * t + i] * scale_log2 - offset[2 * t + (i & 1)]);
#pragma unroll
      for (int i = 0; i < 2; ++i) p[2 * t + i] = pack<T>(s[4 * t + 2 * i], s[4 * t + 2 * i + 1]);
    }
  }
  /// Rounds dS^T = P^T dP^T to ds, and writes it to shared memory with queries as rows.
  __device__ __forceinline__ void differentiate(const float (&dp)[br / 2]) {
    const int row = (lane >> 4) * 8 + (lane & 7), chunk = warp * 2 + (lane >> 3 & 1);
    const std::uint32_t to =
        memory.d_s(place.stage) + group * Shape::q_panel_bytes + row * panel_row_bytes + ((chunk ^ (row & 7)) << 4);
#pragma unroll
    for (int t = 0; t < br / 8; ++t) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float2 own = unpack<T>(p[2 * t + i]);
        ds[2 * t + i] = pack<T>(own.x * dp[4 * t + 2 * i], own.y * dp[4 * t + 2 * i + 1]);
      }
      if (t & 1)
        store_matrices_transposed(to + t / 2 * 16 * panel_row_bytes, ds[2 * t - 2], ds[2 * t - 1], ds[2 * t], ds[2 * t + 1]);
    }
  }
  /// Puts the warp's dQ of 16 rows into its shared memory, from which add_queries() adds them. Rows of a strip that is not whole
  /// are added at once.
  __device__ __forceinline__ void put_queries(const float (&dq)[32], const AddedTile& tile) const {
    const int row = first_query(tile), rows = arguments.tensors.seq_q - row;
    if (rows >= 16) {
      if (lane == 0) stores_have_read();
      __syncwarp();
      const std::uint32_t to = memory.sums(group * 4 + warp) + lane * 16;
#pragma unroll
      for (int t = 0; t < 8; ++t) store_four(to + t * 512, dq + 4 * t);
    } else if (rows > 0) {
      float* const to = sums_of(tile) + lane / 4 * d + (d == 128 ? group * 64 : 0) + 2 * (lane & 3);
#pragma unroll
      for (int t = 0; t < 8; ++t) {
        if (lane / 4 < rows) add_in_memory(to + t * 8, dq[4 * t], dq[4 * t + 1]);
        if (lane / 4 + 8 < rows) add_in_memory(to + 8 * d + t * 8, dq[4 * t + 2], dq[4 * t + 3]);
      }
    }
  }
  /// Starts the addition of what put_queries() put there. One lane, after the other lanes' writes are visible to the copy engine.
  __device__ __forceinline__ void add_queries(const AddedTile& tile) const {
    if (arguments.tensors.seq_q - first_query(tile) < 16) return;
    add_bulk(sums_of(tile) + (d == 128 ? group * 64 * 16 : 0), memory.sums(group * 4 + warp), Shape::sum_bytes);
  }
  /// Returns the first query of the warp's strip.
  __device__ __forceinline__ int first_query(const AddedTile& tile) const {
    return tile.first_row + (d == 64 ? group * 64 : 0) + warp * 16;
  }
  __device__ __forceinline__ float* sums_of(const AddedTile& tile) const {
    return arguments.tensors.dq_acc + (static_cast<std::int64_t>(tile.plane) * arguments.tensors.seq_q + first_query(tile)) * d;
  }
  /// Announces that this warp is done.
  __device__ __forceinline__ void release(std::uint32_t barrier) const {
    __syncwarp();
    if (lane == 0) barrier_arrive(barrier);
  }

  /// Starts S^T of the walk's query tile.
  __device__ __forceinline__ void start_scores(float (&s)[br / 2], float (&offset)[br / 4]) const {
    barrier_wait(memory.q_full(place.stage), place.parity);
    load_stats(offset, false);
    start_pair<true>(s, memory.k(), memory.q(place.stage));
  }
  /// Makes P^T from it.
  __device__ __forceinline__ void finish_scores(float (&s)[br / 2], const float (&offset)[br / 4]) {
    pin(s);
    mask(s);
    weigh(s, offset);
  }
  /// Takes one query tile, from P^T on, and makes the next P^T unless it is the last. `dq` holds that of the tile before,
  /// `added`, and then that of this one.
  template <bool last>
  __device__ __forceinline__ void step(float (&dq)[32], AddedTile& added) {
    float s[br / 2], dp[br / 2], offset[br / 4];
    subtract_dots(dp);
    barrier_wait(memory.d_o_full(place.stage), place.parity);
    start_pair<false>(dp, memory.v(), memory.d_o(place.stage));
    start_keys(dv, p, memory.d_o(place.stage));
    put_queries(dq, added);
    wgmma_wait<1>();
    pin(dp);
    differentiate(dp);
    start_keys(dk, ds, memory.q(place.stage));
    shared_writes_visible_to_async();
    release(memory.d_s_full(place.stage));
    if (lane == 0) add_queries(added);
    const RingPlace<Shape::stages> now = place;
    added = {walk.plane, walk.tile * br};
    walk.next(arguments.tensors);
    place.next();
    if constexpr (!last) start_scores(s, offset);
    wgmma_wait<last ? 0 : 1>();  // dV and dK
    pin(dv), pin(dk), pin(p), pin(ds);
    barrier_arrive(memory.empty(now.stage));
    barrier_wait(memory.d_s_full(now.stage), now.parity);
    start_queries(dq, now.stage);
    if constexpr (!last) {
      wgmma_wait<1>();
      finish_scores(s, offset);
    } else {
      stage(memory.v(), dv, 1.f);
    }
    wgmma_wait<0>();
    pin(dq);
  }

  /// Computes the gradients of the group's keys.
  __device__ __forceinline__ void run() {
    float dq[32];
    barrier_wait(memory.k_full(), 0);
    {
      float s[br / 2];
      float offset[br / 4];
      start_scores(s, offset);
      wgmma_wait<0>();
      finish_scores(s, offset);
    }
    barrier_wait(memory.v_full(), 0);
    AddedTile added{0, arguments.tensors.seq_q};  // past the end: nothing to add yet
#pragma unroll 1
    for (int left = walk.visits(arguments.tensors).count(); left > 1; --left) step<false>(dq, added);
    step<true>(dq, added);
    put_queries(dq, added);
    named_sync(1, 128 * Shape::groups);  // now nobody reads K any more
    stage(memory.k(), dk, arguments.tensors.scale);
    shared_writes_visible_to_async();
    __syncwarp();
    if (lane == 0) add_queries(added);
    if (group == 0)
      named_sync(2, 128);
    else
      named_sync(3, 128);
    const int key = block_x() * Shape::bc + 64 * group;
    if ((threadIdx.x & 127) == 0 && key < arguments.tensors.seq_kv) {
      const auto kv_plane = static_cast<int>(key_plane(arguments.tensors));
      store_box(&arguments.dv, memory.v() + group * Shape::group_bytes, key, kv_plane);
      store_box(&arguments.dk, memory.k() + group * Shape::group_bytes, key, kv_plane);
    }
    if (lane == 0) stores_have_read();
  }
  /// Rounds the sums of a gradient to the group's shared tile.
  __device__ __forceinline__ void stage(std::uint32_t tile, const float (&sums)[d / 2], float scale) const {
    const int row = warp * 16 + (lane & 15), chunk = lane / 16;
#pragma unroll
    for (int n = 0; n < d / 8; n += 2) {
      const float* const x = sums + n * 4;
      store_matrices(tile + group * Shape::group_bytes + n / 8 * Shape::group_panel_bytes + row * panel_row_bytes +
                         (((n % 8 + chunk) ^ (row & 7)) << 4),
                     pack<T>(x[0] * scale, x[1] * scale), pack<T>(x[2] * scale, x[3] * scale), pack<T>(x[4] * scale, x[5] * scale),
                     pack<T>(x[6] * scale, x[7] * scale));
    }
  }
};

/// Grid: key tiles, key heads, batch. With a causal mask the first tile of a head has the most work, so it comes first.
template <class Shape>
__global__ __launch_bounds__(Shape::threads,
                             1) void flash3_backward_kernel(const __grid_constant__ Flash3BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const Flash3BackwardMemory<Shape> memory{shared_address(shared)};
  memory.prepare();
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  if (warpgroup == 0) {
    give_registers<Shape::producer_registers>();
    const Flash3BackwardProducer<Shape> producer{arguments, memory};
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    if (threadIdx.x == 0) producer.copy_tiles();
    if (warp == 1) producer.template copy_stats<false>();
    if (warp == 2) producer.template copy_stats<true>();
  } else {
    take_registers<Shape::consumer_registers>();
    GradientGroup<Shape>(arguments, memory, warpgroup - 1).run();
  }
#endif
}

}  // namespace tilescope::device
