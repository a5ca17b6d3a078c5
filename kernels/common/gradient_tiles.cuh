// Warp-level operations of the backward kernels: products that add to given sums, transposes through registers, additions in
// memory.
#pragma once

#include "kernels/common/warp_tiles.cuh"

namespace tilescope::device {

/// Computes s += A B^T for one warp, from two swizzled tiles: A has 16 m_tiles rows, B has 8 n_tiles rows of `row_bytes` bytes.
/// Fragments are fetched `ahead` steps ahead, 0 or 1; one step takes 8 registers more for every 32 rows.
template <class T, int row_bytes, int ahead, int m_tiles, int n_tiles>
__device__ __forceinline__ void add_product_transposed(float (&s)[m_tiles][n_tiles][4], const LanePlaces<row_bytes>& places,
                                                       std::uint32_t a_shared, std::uint32_t b_shared) {
  constexpr int steps = row_bytes / 32;
  std::uint32_t a[2][m_tiles][4], b[2][n_tiles / 2][4];
  auto fetch = [&](int step) {
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt)
      load_matrices(a[step & 1][mt], places.stepped(places.rows_first, step, a_shared + mt * 16 * row_bytes));
#pragma unroll
    for (int n = 0; n < n_tiles / 2; ++n)
      load_matrices(b[step & 1][n], places.stepped(places.chunks_first, step, b_shared + n * 16 * row_bytes));
  };
  if (ahead) fetch(0);
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    if (step + ahead < steps) fetch(step + ahead);
#pragma unroll
    for (int n = 0; n < n_tiles; ++n)
#pragma unroll
      for (int mt = 0; mt < m_tiles; ++mt)
        mma<T>(s[mt][n], a[step & 1][mt], b[step & 1][n / 2][(n & 1) * 2], b[step & 1][n / 2][(n & 1) * 2 + 1], s[mt][n]);
  }
}

/// Computes sum += A B for one warp. A is 16 m_tiles x 16 `steps`, in registers; B has 16 `steps` rows of a swizzled tile, of which
/// the 8 n_tiles columns count that start at `b_shared`.
template <class T, int row_bytes, int steps, int m_tiles, int n_tiles>
__device__ __forceinline__ void add_product(float (&sum)[m_tiles][n_tiles][4], const std::uint32_t (&a)[steps][m_tiles][4],
                                            const LanePlaces<row_bytes>& places, std::uint32_t b_shared) {
  constexpr int groups = n_tiles / 2, turns = steps * groups;
  std::uint32_t b[2][4];
  auto fetch = [&](int turn) {
    load_matrices_transposed(b[turn & 1],
                             places.stepped(places.rows_first, turn % groups, b_shared + turn / groups * 16 * row_bytes));
  };
  fetch(0);
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    if (turn + 1 < turns) fetch(turn + 1);
    const int step = turn / groups, g = turn % groups;
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt) {
      mma<T>(sum[mt][g * 2], a[step][mt], b[turn & 1][0], b[turn & 1][1], sum[mt][g * 2]);
      mma<T>(sum[mt][g * 2 + 1], a[step][mt], b[turn & 1][2], b[turn & 1][3], sum[mt][g * 2 + 1]);
    }
  }
}

/// Rounds a tile of sums to the left operand of a product: step k holds columns 16k … 16k + 15.
template <class T, int m_tiles, int n_tiles>
__device__ __forceinline__ void pack_left(std::uint32_t (&a)[n_tiles / 2][m_tiles][4], const float (&s)[m_tiles][n_tiles][4]) {
#pragma unroll
  for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
    for (int k = 0; k < n_tiles / 2; ++k) {
      a[k][mt][0] = pack<T>(s[mt][2 * k][0], s[mt][2 * k][1]);
      a[k][mt][1] = pack<T>(s[mt][2 * k][2], s[mt][2 * k][3]);
      a[k][mt][2] = pack<T>(s[mt][2 * k + 1][0], s[mt][2 * k + 1][1]);
      a[k][mt][3] = pack<T>(s[mt][2 * k + 1][2], s[mt][2 * k + 1][3]);
    }
}

/// Stores such an operand to rows of a swizzled tile, from chunk `first_chunk` of each row. `own_rows` is the warp's first row.
template <int row_bytes, int steps, int m_tiles>
__device__ __forceinline__ void store_left(std::uint32_t own_rows, const std::uint32_t (&a)[steps][m_tiles][4], int first_chunk,
                                           int lane) {
  const std::uint32_t place = own_rows + swizzled<row_bytes>(lane / 4, first_chunk) + (lane & 3) * 4;
#pragma unroll
  for (int k = 0; k < steps; ++k)
#pragma unroll
    for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        asm volatile("st.shared.b32 [%0], %1;" ::"r"((place ^ ((2 * k + i / 2) << 4)) + (mt * 16 + (i & 1) * 8) * row_bytes),
                     "r"(a[k][mt][i])
                     : "memory");
}

/// Adds four floats to global memory, in the L2; relaxed, in the order of arrival.
__device__ __forceinline__ void add_in_memory(float* to, float x, float y, float z, float w) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
#else
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to), "f"(x) : "memory");
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to + 1), "f"(y) : "memory");
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to + 2), "f"(z) : "memory");
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to + 3), "f"(w) : "memory");
#endif
}

/// Adds two floats.
__device__ __forceinline__ void add_in_memory(float* to, float x, float y) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(x), "f"(y) : "memory");
#else
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to), "f"(x) : "memory");
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to + 1), "f"(y) : "memory");
#endif
}

template <int m_tiles, int n_tiles>
__device__ __forceinline__ void clear(float (&sums)[m_tiles][n_tiles][4]) {
#pragma unroll
  for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
    for (int n = 0; n < n_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[mt][n][i] = 0.f;
}

}  // namespace tilescope::device
