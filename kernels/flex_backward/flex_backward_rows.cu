// The launches around the gradients of flex_backward where tables have gradients: D of the query tiles with zeros for the tables
// before them, the sums of tables that are added in order after them.
#include "kernels/common/gradient_rows.cuh"
#include "kernels/common/gradient_variants.h"
#include "kernels/flex_backward/flex_backward_arguments.h"
#include "kernels/flex_backward/table_gradients.cuh"

namespace tilescope {

namespace device {

/// Fills the block's share of each array with zeros: the same share as table_share() of the model.
__device__ __forceinline__ void zero_tables(const FlexRowArguments& a) {
  const int blocks = gridDim.x * gridDim.y * gridDim.z, block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  for (int n = 0; n < a.count; ++n) {
    const int rows = a.rows[n], cols = a.cols[n];
    std::int64_t first;
    int count;
    if (rows >= blocks) {
      const int each = (rows + blocks - 1) / blocks, row = block * each;
      first = static_cast<std::int64_t>(row) * cols;
      count = min(each, rows - row) * cols;
    } else {
      const int across = blocks / rows, each = (cols + across - 1) / across, col = block % across * each;
      first = static_cast<std::int64_t>(block / across) * cols + col;
      count = block / across < rows ? min(each, cols - col) : 0;
    }
    if (count <= 0) continue;
    float* const start = a.zeros[n] + first;
    for_each_by_sector<row_threads, 4>(start, count, threadIdx.x, [&](int i) { start[i] = 0.f; });
  }
}

template <class T, int d>
__global__ __launch_bounds__(row_threads) void flex_row_dot_kernel(const FlexRowArguments arguments) {
  row_dots<T, d, 64, 0>(arguments.gradients);
  zero_tables(arguments);
}

/// Adds the parts of 32 neighbouring elements of a table: read after read, head after head, query tile after query tile, key tile
/// after key tile. Grid: 32 elements each, row after row, table after table.
__global__ __launch_bounds__(32) void table_sums_kernel(const FlexTableSums a) {
  constexpr int br = 64, bc = 128;
  int number = 0;
  while (number + 1 < a.count && static_cast<int>(blockIdx.x) >= a.tables[number + 1].first_block) ++number;
  const FlexTableSums::Table& table = a.tables[number];
  const int across = (table.cols + 31) / 32, block = blockIdx.x - table.first_block, row = block / across,
            first = block % across * 32;
  const int count = min(32, table.cols - first), lane = threadIdx.x;
  const int query_tiles = (a.seq_q + br - 1) / br, key_tiles = (a.seq_kv + bc - 1) / bc;
  float sum = 0.f;
  for (int n = table.first_read; n < table.first_read + table.reads; ++n) {
    const FlexTableSums::Read& read = a.reads[n];
    const auto reach = static_cast<TableReach>(read.reach);
    for (int plane = 0; plane < a.planes; ++plane) {
      if (__ldg(read.origins + 2 * plane) != row) continue;
      const int origin = __ldg(read.origins + 2 * plane + 1);
      const std::int64_t tile = static_cast<std::int64_t>(plane) * query_tiles;
      if (reach == TableReach::head) {
        if (origin < first || origin >= first + count) continue;
        const float* const from = read.parts + tile;
        float own = 0.f;
        for_run<32>(static_cast<int>(tile), query_tiles, [&](int i) { own += __ldcg(from + i); });
#pragma unroll
        for (int other = 16; other > 0; other /= 2) own += __shfl_xor_sync(0xffffffffu, own, other);
        if (lane == origin - first) sum += own;
        continue;
      }
      // The query, key or distance that reads the lane's element.
      const int own = read.step * (first + lane - origin);
      const bool exists = lane < count;
      if (reach == TableReach::query) {
        if (exists && own >= 0 && own < a.seq_q) sum += __ldcg(read.parts + static_cast<std::int64_t>(plane) * a.seq_q + own);
        continue;
      }
      if (reach == TableReach::key) {
        if (exists && own >= 0 && own < a.seq_kv)
#pragma unroll 8
          for (int i = 0; i < query_tiles; ++i) sum += __ldcg(read.parts + (tile + i) * a.seq_kv + own);
        continue;
      }
      const int low = read.step * (first - origin), high = read.step * (first + count - 1 - origin);
      const int least = min(low, high), most = max(low, high);
      for (int i = 0; i < query_tiles; ++i) {
        const int first_query = i * br, last_query = min(first_query + br, a.seq_q) - 1;
        const int begin = max(first_query - most, 0) / bc, end = min(last_query - least, a.seq_kv - 1) / bc;
        if (last_query - least < 0) continue;
        const float* const from = read.parts + (tile + i) * key_tiles * (br + bc);
#pragma unroll 2
        for (int j = begin; j <= end; ++j) {
          const int last_key = min((j + 1) * bc, a.seq_kv) - 1, at = own - (first_query - last_key);
          if (exists && at >= 0 && at <= last_query - j * bc - (first_query - last_key)) sum += __ldcg(from + j * (br + bc) + at);
        }
      }
    }
  }
  float* const to = table.gradient + static_cast<std::int64_t>(row) * table.cols + first;
  if (lane < count) to[lane] = sum;
}

}  // namespace device

const void* flex_backward_table_sums() {
  return reinterpret_cast<const void*>(&device::table_sums_kernel);
}

const void* flex_backward_row_dots(bool fp16, int head_dim) {
  using device::bfloat_type;
  using device::flex_row_dot_kernel;
  using device::half_type;
  if (head_dim == 64)
    return fp16 ? reinterpret_cast<const void*>(&flex_row_dot_kernel<half_type, 64>)
                : reinterpret_cast<const void*>(&flex_row_dot_kernel<bfloat_type, 64>);
  return fp16 ? reinterpret_cast<const void*>(&flex_row_dot_kernel<half_type, 128>)
              : reinterpret_cast<const void*>(&flex_row_dot_kernel<bfloat_type, 128>);
}

}  // namespace tilescope
