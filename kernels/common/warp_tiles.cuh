// Warp-level tile operations: copies into and out of swizzled shared memory, products of shared tiles, masking.
//
//   Accumulator layout of mma.m16n8k16, with g = lane / 4 and t = lane % 4:
//
//        acc[0] acc[1]   row g        acc[2] acc[3]   row g + 8        columns 2t and 2t + 1
//
//   Two neighbouring accumulators, packed to 16 bits, form the left operand of the next product. So P goes from the softmax to the
//   tensor cores without passing through shared memory.
#pragma once

#include "kernels/common/tensor_core.cuh"

namespace tilescope::device {

/// Copies `tile_rows` contiguous rows into a swizzled shared tile, one warp. Only the first `rows` exist; the others become zeros.
/// `whole` promises that all exist and drops the check. `only`: nothing, or an OnlyIf.
template <int row_bytes, int tile_rows, bool whole, class... Only>
__device__ __forceinline__ void copy_rows(std::uint32_t shared, const char* global, int rows, int lane, Only... only) {
  constexpr int row_chunks = row_bytes / 16, rows_a_step = 32 / row_chunks, steps = tile_rows / rows_a_step;
  const int row = lane / row_chunks, chunk = lane % row_chunks;
  const std::uint32_t to = swizzled<row_bytes>(row, chunk);
  const char* const from = global + lane * 16;
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    // A step of 2 or 4 rows flips swizzle bits that the lane's own row leaves alone, so one XOR gives the new position.
    const std::uint32_t place = (to ^ (((i * rows_a_step) & 7) << 4)) + (shared + i * 512);
    if constexpr (whole)
      copy_async(place, from + i * 512, only...);
    else
      copy_async(place, from + i * 512, row + i * rows_a_step < rows, only...);
  }
}

/// Writes the first `rows` of a swizzled shared tile's `tile_rows` rows to contiguous global rows, 16 bytes a lane.
template <int row_bytes, int tile_rows>
__device__ __forceinline__ void store_rows(char* global, const char* shared, int rows, int lane) {
  constexpr int row_chunks = row_bytes / 16, rows_a_step = 32 / row_chunks;
  const int chunk = lane % row_chunks;
#pragma unroll
  for (int i = 0; i < tile_rows / rows_a_step; ++i) {
    const int row = i * rows_a_step + lane / row_chunks;
    if (row < rows)
      *reinterpret_cast<uint4*>(global + row * row_bytes + chunk * 16) =
          *reinterpret_cast<const uint4*>(shared + swizzled<row_bytes>(row, chunk));
  }
}

/// Returns how many elements of `bytes` bytes lie between the start of the 32-byte sector and `pointer`.
__device__ __forceinline__ int elements_into_sector(const void* pointer, int bytes) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(pointer) % 32) / bytes;
}

/// Calls `visit(i)` for i in [0, count) on `threads` threads, so that no two warps touch the same sector of `start`.
/// All lanes run the same number of iterations: with a bound per lane, lanes could diverge and request one sector twice.
template <int threads, int element_bytes, class Visit>
__device__ __forceinline__ void for_each_by_sector(const void* start, int count, int thread, Visit visit) {
  for (int base = -elements_into_sector(start, element_bytes); base < count; base += threads)
    if (const int i = base + thread; i >= 0 && i < count) visit(i);
}

/// Does the same for at most `threads` 4-byte elements, unrolled to two iterations: the second covers the last, partial sector.
template <int threads, class Visit>
__device__ __forceinline__ void for_block_by_sector(const float* start, int count, int thread, Visit visit) {
  const int i = thread - elements_into_sector(start, 4);
  if (i >= 0 && i < count) visit(i);
  if (i + threads < count) visit(i + threads);
}

/// Where a lane's ldmatrix rows start in a swizzled tile. Every offset added later is the same for all lanes.
template <int row_bytes>
struct LanePlaces {
  std::uint32_t rows_first;    // bit 3 selects the row half, bit 4 the chunk: left operands, transposed right ones
  std::uint32_t chunks_first;  // bit 4 selects the row half, bit 3 the chunk: right operands

  __device__ __forceinline__ explicit LanePlaces(int lane)
      : rows_first(swizzled<row_bytes>((lane & 7) + (lane & 8), lane >> 4)),
        chunks_first(swizzled<row_bytes>((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1)) {}

  /// Returns the address of chunk pair `step` of the lane's row. The swizzle is an XOR, so a step is one too.
  static __device__ __forceinline__ std::uint32_t stepped(std::uint32_t place, int step, std::uint32_t base) {
    return (place ^ ((step & 3) << 5)) + (base + ((step >> 2) << 7));
  }
};

/// Computes s = A B^T for one warp, from two swizzled tiles: A has 16 m_tiles rows, B has 8 s_tiles rows of `row_bytes` bytes.
template <class T, int row_bytes, int most_b_rows = 4, int m_tiles, int s_tiles>
__device__ __forceinline__ void multiply_transposed(float (&s)[m_tiles][s_tiles][4], const LanePlaces<row_bytes>& places,
                                                    std::uint32_t a_shared, std::uint32_t b_shared) {
  constexpr int k_steps = row_bytes / 32;
  // Fragments of B are fetched one iteration ahead, at most 16 most_b_rows rows at a time: more than 64 would not fit in registers
  // beside s.
  constexpr int b_rows = s_tiles / 2 < most_b_rows ? s_tiles / 2 : most_b_rows, parts = s_tiles / 2 / b_rows,
                turns = k_steps * parts;
  static_assert(parts * b_rows * 2 == s_tiles);
  const float zero[4] = {0.f, 0.f, 0.f, 0.f};
  std::uint32_t a[2][m_tiles][4], b[2][b_rows][4];
  auto fetch = [&](int turn) {
    const int step = turn / parts, first = turn % parts * b_rows;
    if (first == 0)
#pragma unroll
      for (int mt = 0; mt < m_tiles; ++mt)
        load_matrices(a[step & 1][mt], places.stepped(places.rows_first, step, a_shared + mt * 16 * row_bytes));
#pragma unroll
    for (int n = 0; n < b_rows; ++n)
      load_matrices(b[turn & 1][n], places.stepped(places.chunks_first, step, b_shared + (first + n) * 16 * row_bytes));
  };
  fetch(0);
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    if (turn + 1 < turns) fetch(turn + 1);
    const int step = turn / parts;
#pragma unroll
    for (int n = 0; n < 2 * b_rows; ++n)
#pragma unroll
      for (int mt = 0; mt < m_tiles; ++mt) {
        float(&to)[4] = s[mt][turn % parts * b_rows * 2 + n];
        const std::uint32_t b0 = b[turn & 1][n / 2][(n & 1) * 2], b1 = b[turn & 1][n / 2][(n & 1) * 2 + 1];
        if (step == 0)
          mma<T>(to, a[0][mt], b0, b1, zero);
        else
          mma<T>(to, a[step & 1][mt], b0, b1, to);
      }
  }
}

/// Sets s to `hidden` where a key is not visible. `visible` counts the tile's keys that the warp's first row sees; under a causal
/// mask each further row sees one more. Rows past the end of Q may count keys past seq_kv: those keys are zeros, and such rows are
/// not stored.
template <bool causal, int m_tiles, int s_tiles>
__device__ __forceinline__ void mask_scores(float (&s)[m_tiles][s_tiles][4], int visible, int lane,
                                            float hidden = minus_infinity()) {
  const int limit = visible - 2 * (lane & 3) + (causal ? lane / 4 : 0);
#pragma unroll
  for (int mt = 0; mt < m_tiles; ++mt)
#pragma unroll
    for (int n = 0; n < s_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (n * 8 + (i & 1) - (causal ? mt * 16 + (i / 2) * 8 : 0) >= limit) s[mt][n][i] = hidden;
}

}  // namespace tilescope::device
