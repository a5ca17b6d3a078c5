// Closed forms of the kernels' traffic.
#include "kernels/kernel_traffic.h"

#include <algorithm>

#include "sim/core/units.h"

namespace tilescope {

namespace {

constexpr std::int64_t element = 2, statistic = 4;
constexpr std::int64_t kept_bytes = 163 * 1024;  // of a row of the softmax, see kernels/standard/rows.cu

/// Sums over the query tiles of one head: what they visit.
struct Visits {
  std::int64_t rows = 0;        // rows of tiles that see a key
  std::int64_t keys = 0;        // keys in the visited tiles
  std::int64_t rows_tiles = 0;  // rows x visited tiles
  std::int64_t rows_keys = 0;   // rows x keys: the part of S that exists
  std::int64_t matrix = 0;      // the same with what pads its rows
};

Visits visits_of(const AttentionProblem& p, const TileShape& tile) {
  Visits sum;
  for (std::int64_t first = 0; first < p.seq_q; first += tile.block_q) {
    const std::int64_t rows = std::min(tile.block_q, p.seq_q - first);
    const std::int64_t tiles = ceil_div(p.visible_keys(first + rows - 1), tile.block_kv);
    const std::int64_t keys = std::min(p.seq_kv, tiles * tile.block_kv);
    if (tiles > 0) sum.rows += rows;
    sum.keys += keys;
    sum.rows_tiles += rows * tiles;
    sum.rows_keys += rows * keys;
    sum.matrix += rows * std::min(row_pitch(p.seq_kv, p.dtype), tiles * tile.block_kv);
  }
  return sum;
}

}  // namespace

std::optional<KernelTraffic> kernel_traffic(const KernelInfo& kernel, const AttentionProblem& p) {
  if (kernel.is_library) return std::nullopt;
  const Visits v = visits_of(p, kernel.tile(p));
  const std::int64_t row = p.head_dim * element, matrix = v.matrix * element, output = p.seq_q * row;
  KernelTraffic one;
  if (kernel.program() == "flash2") {
    one = {v.rows * row + 2 * v.keys * row, output + p.seq_q * statistic};
  } else if (kernel.id == "flash1") {
    const std::int64_t step = row + 2 * statistic;  // O, l and m of a row
    one = {2 * p.seq_kv * row + v.rows_tiles * (row + step), p.seq_q * step + v.rows_tiles * step};
  } else if (kernel.id == "standard") {
    const std::int64_t reads_of_s = row_pitch(p.seq_kv, p.dtype) * element <= kept_bytes ? 1 : 2;
    one = {v.rows_tiles * row + 2 * v.keys * row + (reads_of_s + 1) * matrix, 2 * matrix + output};
  } else if (kernel.id == "softmax_safe") {
    one = {3 * matrix, matrix};
  } else if (kernel.id == "softmax_online") {
    one = {2 * matrix, matrix};
  } else if (kernel.id == "softmax_fused") {
    one = {matrix + v.rows_keys * row, output};
  } else if (kernel.id == "matmul_naive") {
    one = {v.rows_tiles * row + v.rows_keys * row, matrix};
  } else {
    one = {v.rows_tiles * row + v.keys * row, matrix};
  }
  return KernelTraffic{p.query_planes() * one.l2_to_sm_bytes, p.query_planes() * one.sm_to_l2_bytes};
}

}  // namespace tilescope
