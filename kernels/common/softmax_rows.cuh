// Shared by softmax_safe, softmax_online and softmax_fused: one block a row, keys in tiles of 128.
//
//   Every pass fetches the row again, past the L1, to make the passes visible as traffic: the three kernels read each element of S
//   3, 2 and 1 times.
//   Rows of S and P are `pitch` elements apart, see row_pitch() in sim/core/tensor.h. The padding of S is -inf: it changes neither
//   the maximum nor the sum, and its P is 0.
#pragma once

#include "kernels/standard/rows_kernel.cuh"

namespace tilescope::device {

struct LadderArguments {
  const void* s;
  const void* v;
  void* p;
  void* o;
  int seq_q, seq_kv, pitch;
  int heads, kv_heads;
};

inline constexpr int ladder_threads = 128, ladder_keys = 128;

/// The row of S and P that the block owns.
template <class T>
struct LadderRow {
  const T* s;
  T* p;
  int pitch;

  __device__ __forceinline__ explicit LadderRow(const LadderArguments& arguments) : pitch(arguments.pitch) {
    const std::int64_t start = (static_cast<std::int64_t>(blockIdx.y) * arguments.seq_q + blockIdx.x) * pitch;
    s = static_cast<const T*>(arguments.s) + start;
    p = static_cast<T*>(arguments.p) + start;
  }
  /// Runs one pass: calls visit(score * log2(e)) for each element of this thread.
  template <class Visit>
  __device__ __forceinline__ void pass(Visit visit) const {
    for_each_piece(pitch, threadIdx.x, ladder_threads, [&](int c) {
      Piece<T> piece;
      piece.fetch(s + c);
#pragma unroll
      for (int i = 0; i < piece.size; ++i) visit(to_float(piece.value[i]) * log2_e);
    });
  }
  /// Runs the last pass: writes P = exp(S - m) / l.
  __device__ __forceinline__ void write(MaxSum all) const {
    const float inverse = all.sum == 0.f ? 0.f : 1.f / all.sum, most = all.max == minus_infinity() ? 0.f : all.max;
    for_each_piece(pitch, threadIdx.x, ladder_threads, [&](int c) {
      Piece<T> piece;
      piece.fetch(s + c);
#pragma unroll
      for (int i = 0; i < piece.size; ++i)
        piece.value[i] = from_float<T>(exp2_fast(to_float(piece.value[i]) * log2_e - most) * inverse);
      piece.write(p + c);
    });
  }
};

/// Plans one block a row, with `shared_bytes` of dynamic shared memory.
inline PlannedLaunch plan_row_softmax(const AttentionProblem& problem, const DeviceTensors& tensors, const void* function,
                                      std::int64_t shared_bytes) {
  LadderArguments arguments{};
  arguments.s = tensors.s;
  arguments.v = tensors.v;
  arguments.p = tensors.p;
  arguments.o = tensors.o;
  set_lengths_and_heads(arguments, problem);
  arguments.pitch = static_cast<int>(row_pitch(problem.seq_kv, problem.dtype));
  return planned("softmax", function, {problem.seq_q, problem.query_planes(), 1}, ladder_threads, shared_bytes, arguments);
}

}  // namespace tilescope::device
