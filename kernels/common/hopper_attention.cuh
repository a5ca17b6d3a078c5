// Attention on Hopper: the shape and the tile that all rungs share, and one warpgroup's 64 query rows with the steps of an
// iteration.
//
//     shared     Q [groups][64,d]   K ring [stages][Bc,d]   V ring [stages][Bc,d]        in panels (hopper.cuh)
//     registers  S [64,Bc] fp32 ── maximum, exp2 ──► P [64,Bc] 16-bit;   O [64,d] fp32
//
//   Both products are wgmma. The first reads Q and K from shared memory, the second P from registers and V from shared memory.
//   A thread holds two rows, lane / 4 and lane / 4 + 8 of its warp's 16: element i of S belongs to row half i / 2 % 2.
#pragma once

#include "kernels/common/hopper.cuh"
#include "kernels/common/hopper_arguments.h"
#include "kernels/common/no_role_probe.cuh"
#include "kernels/common/softmax_variants.h"
#include "kernels/common/warp_tiles.cuh"

namespace tilescope::device {

/// Compile-time parameters that all rungs share. A group is a warpgroup with 64 query rows.
template <class Element, int dim, int group_count, int block_keys, int ring, bool is_causal>
struct HopperShape {
  using T = Element;
  static constexpr int d = dim, groups = group_count, bc = block_keys, stages = ring, br = 64 * groups;
  static constexpr bool causal = is_causal, rows_may_be_hidden = is_causal;
  static constexpr int group_bytes = 64 * d * 2, kv_bytes = bc * d * 2;
  static constexpr int group_panel_bytes = 64 * panel_row_bytes, kv_panel_bytes = bc * panel_row_bytes;
  static constexpr int q_bytes = groups * group_bytes, ring_bytes = stages * kv_bytes, lse_bytes = br * 4;
  static constexpr bool keeps_maximum = false;  // until the exponents pass it by kept_maximum_range
  static constexpr int cubic_every = 0;         // of so many exponentials of a row, one is exp2_cubic(); 0: none
  static_assert((d == 64 || d == 128) && bc % 16 == 0 && bc <= 256);
};

/// The query tile that a block works on, and the key tiles it visits, from the right edge to the left.
template <class Shape>
struct HopperTile {
  int first_row, plane, kv_plane, key_tiles;

  __device__ __forceinline__ HopperTile(const HopperArguments& arguments, int query_tile, int plane_index)
      : first_row(query_tile * Shape::br), plane(plane_index) {
    const int batch = plane / arguments.heads, head = plane % arguments.heads;
    kv_plane = batch * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads);
    const int last_row = min(first_row + Shape::br, arguments.seq_q) - 1;
    const int keys = Shape::causal ? min(visible_keys(arguments, last_row), arguments.seq_kv) : arguments.seq_kv;
    key_tiles = (keys + Shape::bc - 1) / Shape::bc;
  }
  static __device__ __forceinline__ int visible_keys(const HopperArguments& arguments, int row) {
    return Shape::causal ? max(0, row + 1 + arguments.seq_kv - arguments.seq_q) : arguments.seq_kv;
  }
};

/// Returns the tile with number `index`: the last query tile of all planes first, then the one before. Only as many planes take
/// part at a time as fit the L2 with their K and V.
template <class Shape>
__device__ __forceinline__ HopperTile<Shape> grouped_tile(const HopperArguments& arguments, int index) {
  const int tiles = (arguments.seq_q + Shape::br - 1) / Shape::br, together = arguments.planes_together;
  const int set = index / (together * tiles), inside = index - set * together * tiles;
  const int planes = min(together, arguments.planes - set * together);
  return HopperTile<Shape>(arguments, tiles - 1 - inside / planes, set * together + inside % planes);
}

/// One group's rows.
template <class Shape>
struct HopperGroup {
  using T = typename Shape::T;
  static constexpr int d = Shape::d, bc = Shape::bc;

  float o[d / 2], s[bc / 2];
  std::uint32_t p[bc / 4];
  float row_max[2], row_sum[2], alpha[2];  // row_sum: this lane's part only

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < d / 2; ++i) o[i] = 0.f;
    row_max[0] = row_max[1] = minus_infinity();
    row_sum[0] = row_sum[1] = 0.f;
  }

  /// Starts S = Q K^T.
  __device__ __forceinline__ void start_scores(std::uint64_t q, std::uint64_t k) {
    wgmma_fence();
    Wgmma<T, bc>::template shared<true>(s, q, k);
#pragma unroll
    for (int step = 1; step < d / 16; ++step) {
      const int panel = step / 4, along = step % 4 * 2;  // a step is 16 elements, 32 bytes; descriptors count 16 bytes
      Wgmma<T, bc>::template shared<false>(s, q + (panel * (Shape::group_panel_bytes >> 4) + along),
                                           k + (panel * (Shape::kv_panel_bytes >> 4) + along));
    }
    wgmma_commit();
  }
  /// Starts O += P V.
  __device__ __forceinline__ void start_output(std::uint64_t v) {
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < bc / 16; ++slice) Wgmma<T, d>::registers(o, p + 4 * slice, v + slice * (16 * panel_row_bytes >> 4));
    wgmma_commit();
  }

  /// Sets S to `hidden` where a key is not visible. `visible` counts the tile's keys that the warp's first row sees.
  __device__ __forceinline__ void mask(int visible, int lane, float hidden = minus_infinity()) {
    const int limit = visible - 2 * (lane & 3) + (Shape::causal ? lane / 4 : 0);
#pragma unroll
    for (int i = 0; i < bc / 2; ++i)
      if (i / 4 * 8 + (i & 1) - (Shape::causal ? (i / 2 & 1) * 8 : 0) >= limit) s[i] = hidden;
  }

  /// Updates the maxima from S, turns S into exp2(S scale - maximum) and adds it to the sums. `alpha` becomes the factor of O.
  __device__ __forceinline__ void softmax(float scale_log2) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float x = s[half * 2], y = s[half * 2 + 1];  // two chains each: half the latency
#pragma unroll
      for (int i = 4 + half * 2; i < bc / 2; i += 4) x = fmaxf(x, s[i]), y = fmaxf(y, s[i + 1]);
      const float before = row_max[half], highest = fmaxf(before, quad_max(fmaxf(x, y)));
      const bool moves = !Shape::keeps_maximum || reference_moves(before, highest, scale_log2);
      const float now = moves ? highest : before;
      // A row that has seen no key has maximum -inf. Any finite offset makes its exponentials 0, where -inf would give NaN.
      const float offset = Shape::rows_may_be_hidden && now == minus_infinity() ? 0.f : now * scale_log2;
      row_max[half] = now;
      alpha[half] = moves ? exp2_fast(before * scale_log2 - offset) : 1.f;
      x = y = 0.f;
#pragma unroll
      for (int i = half * 2; i < bc / 2; i += 4) {
        s[i] = exponential(i / 4, s[i] * scale_log2 - offset);
        s[i + 1] = exponential(i / 4, s[i + 1] * scale_log2 - offset);
        x += s[i];
        y += s[i + 1];
      }
      row_sum[half] = row_sum[half] * alpha[half] + (x + y);
    }
  }
  __device__ __forceinline__ void rescale() {
    if constexpr (Shape::keeps_maximum)  // a factor is exactly 1 where the maximum was kept
      if (!__any_sync(0xffffffffu, alpha[0] != 1.f || alpha[1] != 1.f)) return;
#pragma unroll
    for (int i = 0; i < d / 2; ++i) o[i] *= alpha[i / 2 & 1];
  }
  /// Rounds S to P.
  __device__ __forceinline__ void round() {
#pragma unroll
    for (int i = 0; i < bc / 4; ++i) p[i] = pack<T>(s[2 * i], s[2 * i + 1]);
  }

  /// Returns 2^x, for the `pair`-th two of a row.
  static __device__ __forceinline__ float exponential(int pair, float x) {
    if constexpr (Shape::cubic_every > 0)
      if (pair % Shape::cubic_every == 0) return exp2_cubic(x);
    return exp2_fast(x);
  }

  /// Divides O by the row sums and writes it to the group's shared tile, and the log-sum-exp to `lse`, one number a row.
  __device__ __forceinline__ void finish(std::uint32_t shared, std::uint32_t lse, float scale_log2, int warp, int lane) const {
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = quad_sum(row_sum[half]);
      inverse[half] = sum == 0.f ? 0.f : 1.f / sum;
      if ((lane & 3) == 0)
        store_shared(lse + (warp * 16 + half * 8 + lane / 4) * 4,
                     sum == 0.f ? minus_infinity() : (row_max[half] * scale_log2 + log2f(sum)) * ln_2);
    }
    const int row = warp * 16 + (lane & 15), chunk = lane / 16;
#pragma unroll
    for (int n = 0; n < d / 8; n += 2) {
      const std::uint32_t to =
          shared + n / 8 * Shape::group_panel_bytes + row * panel_row_bytes + (((n % 8 + chunk) ^ (row & 7)) << 4);
      const float* const x = o + n * 4;
      store_matrices(to, pack<T>(x[0] * inverse[0], x[1] * inverse[0]), pack<T>(x[2] * inverse[1], x[3] * inverse[1]),
                     pack<T>(x[4] * inverse[0], x[5] * inverse[0]), pack<T>(x[6] * inverse[1], x[7] * inverse[1]));
    }
  }
};

/// Stores what the group's threads have written with finish(): O by TMA, which leaves rows past the end out, and the log-sum-exp
/// sector by sector. `row` is the group's first row. Synchronises the group; the store may still be reading afterwards.
template <class Shape>
__device__ __forceinline__ void store_group(const HopperArguments& arguments, std::uint32_t o_shared, std::uint32_t lse_shared,
                                            int row, int plane, int group) {
  shared_writes_visible_to_async();
  named_sync(1 + group, 128);
  if (row >= arguments.seq_q) return;
  const int thread = threadIdx.x & 127;
  if (thread == 0) store_box(&arguments.o, o_shared, row, plane);
  float* const lse = arguments.lse + static_cast<std::int64_t>(plane) * arguments.seq_q + row;
  for_block_by_sector<128>(lse, min(64, arguments.seq_q - row), thread, [&](int i) { lse[i] = load_shared(lse_shared + i * 4); });
}

/// Position in a ring of shared-memory buffers, and the parity of the round.
template <int stages>
struct RingPlace {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void next() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
};

}  // namespace tilescope::device
