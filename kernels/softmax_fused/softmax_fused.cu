// softmax_fused: one pass over a row of S that also multiplies by V, so P is never stored.
#include "kernels/common/by_shape.cuh"
#include "kernels/common/softmax_rows.cuh"

namespace tilescope {

namespace device {

template <class Element, int dim>
struct FusedShape {
  using T = Element;
  static constexpr int d = dim, row_bytes = dim * 2, stages = 2;
  static constexpr int v_bytes = ladder_keys * row_bytes, s_bytes = ladder_keys * 2;
  static constexpr int shared_bytes = stages * v_bytes;
};

/// Reads S once and multiplies by V in the same pass. After every tile, O is exact for the keys seen so far.
template <class Shape>
__global__ __launch_bounds__(ladder_threads) void softmax_fused_kernel(const LadderArguments arguments) {
  using T = typename Shape::T;
  constexpr int row_bytes = Shape::row_bytes, row_chunks = row_bytes / 16, groups = ladder_threads / row_chunks;
  extern __shared__ __align__(128) char shared[];
  __shared__ float scratch[8], weight[ladder_keys], partial[groups][Shape::d];

  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const std::int64_t plane = blockIdx.y, head = plane % arguments.heads;
  const std::int64_t kv_plane = plane / arguments.heads * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads);
  const LadderRow<T> row(arguments);
  const int seq_kv = arguments.seq_kv, tiles = (seq_kv + ladder_keys - 1) / ladder_keys;
  const char* const v = static_cast<const char*>(arguments.v) + (kv_plane * seq_kv + warp * 32) * row_bytes;

  auto copy = [&](int j) {
    if (j < tiles)
      copy_rows<row_bytes, 32, false>(shared_address(shared) + j % Shape::stages * Shape::v_bytes + warp * 32 * row_bytes,
                                      v + static_cast<std::int64_t>(j) * Shape::v_bytes, seq_kv - j * ladder_keys - warp * 32,
                                      lane);
    copy_async_commit();
  };

  // Thread (group, chunk) sums every groups-th key into 8 columns of O.
  const int group = thread / row_chunks, chunk = thread % row_chunks;
  float o[8] = {};
  float m = minus_infinity(), l = 0.f;
  copy(0);
  for (int j = 0; j < tiles; ++j) {
    copy(j + 1);
    const int first = j * ladder_keys, count = min(ladder_keys, seq_kv - first);
    const float score = thread < count ? to_float(__ldcg(row.s + first + thread)) * log2_e : minus_infinity();
    MaxSum mine;
    mine.max = score;
    mine.sum = mine.max == minus_infinity() ? 0.f : 1.f;
    const MaxSum tile = merged(mine, scratch, warp, 0, 4);
    const float m_new = fmaxf(m, tile.max), finite = m_new == minus_infinity() ? 0.f : m_new;
    const float alpha = exp2_fast(m - finite);
    const float l_new = alpha * l + tile.sum * exp2_fast(tile.max - finite);
    const float inverse = l_new == 0.f ? 0.f : 1.f / l_new;
    weight[thread] = exp2_fast(score - finite) * inverse;
    const float old_factor = l * alpha * inverse;
    copy_async_wait<1>();
    __syncthreads();
    const char* const tile_v = shared + j % Shape::stages * Shape::v_bytes;
#pragma unroll
    for (int i = 0; i < 8; ++i) o[i] *= old_factor;
    for (int key = group; key < count; key += groups) {
      const uint4 bytes = *reinterpret_cast<const uint4*>(tile_v + swizzled<row_bytes>(key, chunk));
      const T* const values = reinterpret_cast<const T*>(&bytes);
#pragma unroll
      for (int i = 0; i < 8; ++i) o[i] += weight[key] * to_float(values[i]);
    }
    m = m_new, l = l_new;
    __syncthreads();  // the next tile overwrites the weights and a V buffer
  }
  copy_async_wait<0>();
#pragma unroll
  for (int i = 0; i < 8; ++i) partial[group][chunk * 8 + i] = o[i];
  __syncthreads();
  if (thread < Shape::d / 2) {
    float x = 0.f, y = 0.f;
    for (int g = 0; g < groups; ++g) x += partial[g][thread * 2], y += partial[g][thread * 2 + 1];
    const std::int64_t place = (plane * arguments.seq_q + blockIdx.x) * Shape::d + thread * 2;
    *reinterpret_cast<std::uint32_t*>(static_cast<T*>(arguments.o) + place) = pack<T>(x, y);
  }
}

}  // namespace device

/// Computes O = softmax(S) V row by row, in one pass.
/// Shapes   s [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart   v [B,Hkv,Nk,D]   o [B,Hq,Nq,D]
/// Types    s,v,o fp16 or bf16; sums and weights fp32
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; the padding of S is -inf; sm_80 or later
/// Traffic  l2_to_sm = B Hq (Nq pitch + Nq Nk D) * 2 bytes     sm_to_l2 = B Hq Nq D * 2 bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   our own
/// New      over softmax_online: multiplies by V in the same pass, so P is never stored
LaunchPlan plan_softmax_fused(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {by_shape(problem, [&]<class T, int d>() {
    using Shape = device::FusedShape<T, d>;
    return device::plan_row_softmax(problem, tensors, reinterpret_cast<const void*>(&device::softmax_fused_kernel<Shape>),
                                    Shape::shared_bytes);
  })};
}

}  // namespace tilescope
