// Device code of P = softmax(S), up to 4 rows a block of 4 warps: the second launch of standard attention.
//
//   Rows that fit in shared memory stay there, so S is read once. Longer rows are read twice.
//   Rows of S and P are `pitch` elements apart, see row_pitch() in sim/core/tensor.h. The padding of P is written as 0.
//   Traffic  l2_to_sm = B Hq Nq pitch e (twice that when a row does not fit)     sm_to_l2 = B Hq Nq pitch e
//            when nothing is masked; e = 2 bytes an element.
#pragma once

#include "kernels/common/probe.cuh"
#include "kernels/common/warp_tiles.cuh"
#include "kernels/standard/rows_plan.h"

namespace tilescope::device {

struct RowsArguments {
  const void* s;
  void* p;
  int seq_q, seq_kv, pitch;
  int tile_rows, tile_keys;  // tile of the two products, which decides what a row visits
  int group_rows;            // rows of one block
  bool kept;                 // rows are kept in shared memory
  bool causal;               // skip the tiles above the diagonal
  bool mask;                 // S is not masked: mask here, and write whole rows of P
};

/// Running maximum and sum of exponentials, in powers of two.
struct MaxSum {
  float max = minus_infinity(), sum = 0.f;

  __device__ __forceinline__ void add(float x) {
    const float m = fmaxf(max, x);
    if (m == minus_infinity()) return;
    sum = sum * exp2_fast(max - m) + exp2_fast(x - m);
    max = m;
  }
  /// Combines two partial results: m = max(m1, m2), d = d1 2^(m1-m) + d2 2^(m2-m).
  __device__ __forceinline__ void merge(MaxSum other) {
    const float m = fmaxf(max, other.max);
    if (m == minus_infinity()) return;
    sum = sum * exp2_fast(max - m) + other.sum * exp2_fast(other.max - m);
    max = m;
  }
};

/// Returns the row's combined maximum and sum on every lane of the warps [first_warp, first_warp + warps) that share the row.
/// `scratch` holds 2 floats for each warp of the block.
__device__ __forceinline__ MaxSum merged(MaxSum mine, float* scratch, int warp, int first_warp, int warps) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    MaxSum other;
    other.max = __shfl_xor_sync(0xffffffffu, mine.max, step);
    other.sum = __shfl_xor_sync(0xffffffffu, mine.sum, step);
    mine.merge(other);
  }
  __syncthreads();  // the previous call's scratch has been read
  if (threadIdx.x % 32 == 0) scratch[2 * warp] = mine.max, scratch[2 * warp + 1] = mine.sum;
  __syncthreads();
  MaxSum all;
  for (int w = first_warp; w < first_warp + warps; ++w) {
    MaxSum other;
    other.max = scratch[2 * w], other.sum = scratch[2 * w + 1];
    all.merge(other);
  }
  return all;
}

/// Eight neighbouring elements, which a lane moves as 16 bytes.
template <class T>
struct Piece {
  static constexpr int size = 8;
  T value[size];

  /// Loads from global memory past the L1, so that a row read twice shows as traffic twice.
  __device__ __forceinline__ void fetch(const T* from) { words() = __ldcg(reinterpret_cast<const uint4*>(from)); }
  __device__ __forceinline__ void read(const T* from) { words() = *reinterpret_cast<const uint4*>(from); }
  __device__ __forceinline__ void write(T* to) const { *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(value); }

 private:
  __device__ __forceinline__ uint4& words() { return *reinterpret_cast<uint4*>(value); }
};

/// Calls visit(column) for the first column of each piece of this thread, covering `width` columns of a row.
template <class Visit>
__device__ __forceinline__ void for_each_piece(int width, int thread, int threads, Visit visit) {
  for (int c = thread * 8; c < width; c += threads * 8) visit(c);
}

template <class T, class Recorder>
__global__ __launch_bounds__(128) void rows_kernel(const typename Recorder::template Launch<RowsArguments> arguments) {
  extern __shared__ __align__(128) char shared[];
  __shared__ float scratch[8];
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv, group_rows = arguments.group_rows;
  const int groups_of_tile = (arguments.tile_rows + group_rows - 1) / group_rows;
  const int tile = blockIdx.x / groups_of_tile, tile_first = tile * arguments.tile_rows;
  const int tile_end = min(tile_first + arguments.tile_rows, seq_q);
  const int first_row = tile_first + blockIdx.x % groups_of_tile * group_rows;
  const int rows = min(group_rows, tile_end - first_row);

  const int row_warps = 4 / group_rows, warp = threadIdx.x / 32, slot = warp / row_warps;
  const bool works = slot < rows;
  const int row = first_row + (works ? slot : 0), threads = row_warps * 32, thread = threadIdx.x - slot * threads;
  auto visible = [&](int r) { return arguments.causal ? max(0, min(r + 1 + seq_kv - seq_q, seq_kv)) : seq_kv; };
  const int tile_keys = arguments.tile_keys, pitch = arguments.pitch;
  const int visited = (visible(tile_end - 1) + tile_keys - 1) / tile_keys * tile_keys;
  const int seen = arguments.mask ? visible(row) : min(seq_kv, visited);  // columns to read
  const int width = arguments.mask ? pitch : min(pitch, visited);         // columns to write
  const std::int64_t start = (static_cast<std::int64_t>(blockIdx.y) * seq_q + row) * pitch;
  const T* const s = static_cast<const T*>(arguments.s) + start;
  T* const p = static_cast<T*>(arguments.p) + start;
  T* const kept = arguments.kept ? reinterpret_cast<T*>(shared) + static_cast<std::int64_t>(slot) * pitch : nullptr;

  constexpr int nobody = 1 << 30;  // one thread records each row's statistics
  const Recorder probe(arguments, thread == 0 ? slot : nobody, warp, threadIdx.x % 32);
  probe.tick(0, 0);

  // A kept row is visited twice, first for the maximum and then for the sum: shared memory makes that free outside the SM. A row
  // that is not kept gets both in one pass.
  MaxSum mine;
  if (works)
    for_each_piece(seen, thread, threads, [&](int c) {
      Piece<T> piece;
      piece.fetch(s + c);
      if (kept) piece.write(kept + c);
#pragma unroll
      for (int i = 0; i < piece.size; ++i) {
        const float x = c + i < seen ? to_float(piece.value[i]) * log2_e : minus_infinity();
        if (kept)
          mine.max = fmaxf(mine.max, x);
        else
          mine.add(x);
      }
    });
  const int first_warp = slot * row_warps, warps = works ? row_warps : 0;
  MaxSum all = merged(mine, scratch, warp, first_warp, warps);
  const float most = all.max == minus_infinity() ? 0.f : all.max;
  probe.tick(0, 1);
  if (arguments.kept) {
    MaxSum sum;
    sum.max = all.max;
    if (works)
      for_each_piece(seen, thread, threads, [&](int c) {
        Piece<T> piece;
        piece.read(kept + c);
#pragma unroll
        for (int i = 0; i < piece.size; ++i) sum.sum += c + i < seen ? exp2_fast(to_float(piece.value[i]) * log2_e - most) : 0.f;
      });
    all = merged(sum, scratch, warp, first_warp, warps);
  }
  probe.statistics(0, 0, all.max * ln_2, 0.f);
  probe.sums(0, 0, all.sum);
  probe.tick(0, 2);
  if constexpr (!Recorder::on)  // the probe synchronises the whole block at its end
    if (!works) return;
  const float inverse = all.sum == 0.f ? 0.f : 1.f / all.sum;
  for_each_piece(Recorder::on && !works ? 0 : width, thread, threads, [&](int c) {
    Piece<T> piece;
    if (c < seen) kept ? piece.read(kept + c) : piece.fetch(s + c);
#pragma unroll
    for (int i = 0; i < piece.size; ++i)
      piece.value[i] = from_float<T>(c + i < seen ? exp2_fast(to_float(piece.value[i]) * log2_e - most) * inverse : 0.f);
    piece.write(p + c);
  });
  probe.tick(0, 3);
  probe.end();
}

template <class Recorder>
PlannedLaunch plan_rows(const AttentionProblem& problem, const DeviceTensors& tensors, ScoresMasked masked,
                        const typename Recorder::Arguments& probe) {
  constexpr std::int64_t tile_rows = 128, tile_keys = 128;
  const RowsOfBlock own = rows_of_block(problem);
  RowsArguments arguments{};
  arguments.s = tensors.s;
  arguments.p = tensors.p;
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.pitch = static_cast<int>(row_pitch(problem.seq_kv, problem.dtype));
  arguments.tile_rows = tile_rows;
  arguments.tile_keys = tile_keys;
  arguments.kept = own.kept_bytes > 0;
  arguments.group_rows = static_cast<int>(own.rows);
  arguments.causal = problem.causal;
  arguments.mask = masked == ScoresMasked::no;
  const std::int64_t groups = (tile_rows + arguments.group_rows - 1) / arguments.group_rows;
  const std::int64_t tiles = (problem.seq_q + tile_rows - 1) / tile_rows;
  const void* const function = problem.dtype == DataType::fp16 ? reinterpret_cast<const void*>(&rows_kernel<half_type, Recorder>)
                                                               : reinterpret_cast<const void*>(&rows_kernel<bfloat_type, Recorder>);
  return planned("softmax", function, {tiles * groups, problem.query_planes(), 1}, 128, own.kept_bytes,
                 Recorder::launch(arguments, probe));
}

}  // namespace tilescope::device
