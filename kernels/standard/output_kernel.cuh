// Device code of O = P V, one block a query tile: the third launch of standard attention.
//
//   8 warps of 16 rows. Tiles of P and V pass through a ring of two buffers.
//   Rows of P are `pitch` elements apart, see row_pitch() in sim/core/tensor.h.
//   Traffic  l2_to_sm = B Hq (Nq pitch + ceil(Nq/Br) Nk d) e     sm_to_l2 = B Hq Nq d e, when nothing is masked;
//            e = 2 bytes an element.
#pragma once

#include "kernels/common/by_shape.cuh"
#include "kernels/common/probe.cuh"
#include "kernels/common/warp_tiles.cuh"

namespace tilescope::device {

struct OutputArguments {
  const void* p;
  const void* v;
  void* o;
  int seq_q, seq_kv, pitch;
  int heads, kv_heads;
  bool causal;
};

template <class Element, int dim>
struct OutputShape {
  using T = Element;
  static constexpr int br = 128, bc = 128, threads = 256, d = dim, stages = 2;
  static constexpr int p_row_bytes = bc * 2, v_row_bytes = d * 2;
  static constexpr int p_bytes = br * p_row_bytes, v_bytes = bc * v_row_bytes;
  static constexpr int shared_bytes = stages * (p_bytes + v_bytes);
};

/// Starts the copy of a warp's 16 rows of a P tile, `pitch` elements apart in global memory. Only `rows` rows and `cols` columns
/// exist; a chunk that straddles the last column also reads padding, which is 0.
template <class T>
__device__ __forceinline__ void copy_weights(char* shared, const T* from, std::int64_t pitch, int rows, int cols, int lane) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = i * 2 + lane / 16, chunk = lane % 16;
    const bool present = row < rows && chunk * 8 < cols;
    copy_async(shared_address(shared) + swizzled<256>(row, chunk), present ? from + row * pitch + chunk * 8 : from, present);
  }
}

template <class Shape, class Recorder>
__global__ __launch_bounds__(Shape::threads) void output_kernel(
    const typename Recorder::template Launch<OutputArguments> arguments) {
  using T = typename Shape::T;
  constexpr int o_tiles = Shape::d / 8, p_row = Shape::p_row_bytes, v_row = Shape::v_row_bytes;
  extern __shared__ __align__(128) char shared[];
  char* const v_ring = shared + Shape::stages * Shape::p_bytes;

  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const Recorder probe(arguments, 0, warp, lane);
  const int seq_q = arguments.seq_q, seq_kv = arguments.seq_kv;
  const int first_row = blockIdx.x * Shape::br, rows = min(Shape::br, seq_q - first_row);
  const std::int64_t plane = blockIdx.y, head = plane % arguments.heads;
  const std::int64_t kv_plane = plane / arguments.heads * arguments.kv_heads + head / (arguments.heads / arguments.kv_heads);
  const int keys = arguments.causal ? max(0, min(first_row + rows + seq_kv - seq_q, seq_kv)) : seq_kv;
  const int tiles = (keys + Shape::bc - 1) / Shape::bc;
  const std::int64_t pitch = arguments.pitch;
  const T* const p = static_cast<const T*>(arguments.p) + (plane * seq_q + first_row + warp * 16) * pitch;
  const char* const v = static_cast<const char*>(arguments.v) + (kv_plane * seq_kv + warp * 16) * v_row;

  auto copy = [&](int j) {
    if (j < tiles) {
      const int stage = j % Shape::stages, left = min(Shape::bc, seq_kv - j * Shape::bc);
      copy_weights(shared + stage * Shape::p_bytes + warp * 16 * p_row, p + j * Shape::bc, pitch, rows - warp * 16, left, lane);
      copy_rows<v_row, 16, false>(shared_address(v_ring) + stage * Shape::v_bytes + warp * 16 * v_row,
                                  v + static_cast<std::int64_t>(j) * Shape::v_bytes, left - warp * 16, lane);
    }
    copy_async_commit();
  };

  float o[o_tiles][4];
#pragma unroll
  for (int n = 0; n < o_tiles; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) o[n][i] = 0.f;
  const LanePlaces<p_row> p_places(lane);
  const LanePlaces<v_row> v_places(lane);

  probe.mark(0);
  copy(0);
  probe.mark(1);
  for (int j = 0; j < tiles; ++j) {
    probe.tick(j, 0);
    copy_async_wait<0>();
    __syncthreads();  // tile j has landed, and all warps are done with tile j - 1
    probe.tick(j, 1);
    copy(j + 1);
    probe.tick(j, 2);
    const std::uint32_t p_rows = shared_address(shared) + (j % Shape::stages) * Shape::p_bytes + warp * 16 * p_row;
    const std::uint32_t v_tile = shared_address(v_ring) + (j % Shape::stages) * Shape::v_bytes;
#pragma unroll
    for (int slice = 0; slice < Shape::bc / 16; ++slice) {
      std::uint32_t a[4];
      load_matrices(a, p_places.stepped(p_places.rows_first, slice, p_rows));
#pragma unroll
      for (int g = 0; g < o_tiles / 2; ++g) {
        std::uint32_t b[4];
        load_matrices_transposed(b, v_places.stepped(v_places.rows_first, g, v_tile + slice * 16 * v_row));
        mma<T>(o[2 * g], a, b[0], b[1], o[2 * g]);
        mma<T>(o[2 * g + 1], a, b[2], b[3], o[2 * g + 1]);
      }
    }
    probe.tick(j, 3);
  }
  probe.mark(2);
  __syncthreads();

  char* const own_rows = shared + warp * 16 * v_row;
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int n = 0; n < o_tiles; ++n)
      *reinterpret_cast<std::uint32_t*>(own_rows + swizzled<v_row>(half * 8 + lane / 4, n) + (lane & 3) * 4) =
          pack<T>(o[n][half * 2], o[n][half * 2 + 1]);
  __syncwarp();
  char* const to = static_cast<char*>(arguments.o) + (plane * seq_q + first_row + warp * 16) * v_row;
  store_rows<v_row, 16>(to, own_rows, rows - warp * 16, lane);
  probe.mark(3);
  probe.end();
}

template <class Recorder>
PlannedLaunch plan_output(const AttentionProblem& problem, const DeviceTensors& tensors,
                          const typename Recorder::Arguments& probe) {
  OutputArguments arguments{};
  arguments.p = tensors.p;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  set_lengths_and_heads(arguments, problem);
  arguments.pitch = static_cast<int>(row_pitch(problem.seq_kv, problem.dtype));
  arguments.causal = problem.causal;
  return by_shape(problem, [&]<class T, int d>() {
    using Shape = OutputShape<T, d>;
    const std::int64_t tiles = (problem.seq_q + Shape::br - 1) / Shape::br;
    return planned("output", reinterpret_cast<const void*>(&output_kernel<Shape, Recorder>), {tiles, problem.query_planes(), 1},
                   Shape::threads, Shape::shared_bytes, Recorder::launch(arguments, probe));
  });
}

}  // namespace tilescope::device
