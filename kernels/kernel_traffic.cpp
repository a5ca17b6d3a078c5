// Computes each kernel's traffic in closed form, with causal masks and ragged tiles.
#include "kernels/kernel_traffic.h"

#include <algorithm>

#include "kernels/standard_backward/gradient_rows.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

constexpr std::int64_t element = 2, statistic = 4;

/// What the query tiles of one head visit, summed over the tiles.
struct Visits {
  std::int64_t rows = 0;        // rows of the tiles that see at least one key
  std::int64_t keys = 0;        // keys of the visited key tiles
  std::int64_t rows_tiles = 0;  // rows times visited key tiles
  std::int64_t rows_keys = 0;   // rows times visited keys: the part of S that is computed
  std::int64_t matrix = 0;      // rows_keys with the padding of each row of S
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

std::int64_t row_bytes(const AttentionProblem& p) {
  return p.head_dim * element;
}
std::int64_t output_bytes(const AttentionProblem& p) {
  return p.seq_q * row_bytes(p);
}
std::int64_t matrix_bytes(const AttentionProblem& p, const TileShape& tile) {
  return visits_of(p, tile).matrix * element;
}

}  // namespace

KernelTraffic naive_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows_tiles + v.rows_keys) * row_bytes(p), v.matrix * element};
}

KernelTraffic tiled_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows_tiles + v.keys) * row_bytes(p), v.matrix * element};
}

KernelTraffic safe_traffic(const AttentionProblem& p, const TileShape& tile) {
  return {3 * matrix_bytes(p, tile), matrix_bytes(p, tile)};
}

KernelTraffic online_traffic(const AttentionProblem& p, const TileShape& tile) {
  return {2 * matrix_bytes(p, tile), matrix_bytes(p, tile)};
}

KernelTraffic fused_traffic(const AttentionProblem& p, const TileShape& tile) {
  return {matrix_bytes(p, tile) + visits_of(p, tile).rows_keys * row_bytes(p), output_bytes(p)};
}

KernelTraffic standard_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t reads_of_s = rows_of_block(p).kept_bytes > 0 ? 1 : 2;
  return {(v.rows_tiles + 2 * v.keys) * row_bytes(p) + (reads_of_s + 1) * v.matrix * element,
          2 * v.matrix * element + output_bytes(p)};
}

KernelTraffic flash1_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t step = row_bytes(p) + 2 * statistic;  // one row's O, l and m, which cross in every step
  return {2 * p.seq_kv * row_bytes(p) + v.rows_tiles * (row_bytes(p) + step), (p.seq_q + v.rows_tiles) * step};
}

KernelTraffic flash2_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows + 2 * v.keys) * row_bytes(p), output_bytes(p) + p.seq_q * statistic};
}

KernelTraffic standard_backward_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t reads_of_rows = gradient_rows_of_block(p).kept_bytes > 0 ? 1 : 2;
  return {(3 * v.rows_tiles + 2 * v.keys) * row_bytes(p) + (3 + 2 * reads_of_rows) * v.matrix * element,
          2 * v.matrix * element + output_bytes(p)};
}
KernelTraffic standard_backward_key_traffic(const AttentionProblem& p, const TileShape&) {
  return {0, 2 * p.seq_kv * row_bytes(p)};
}

KernelTraffic flash1_backward_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {v.rows_tiles * (4 * row_bytes(p) + 2 * statistic), (p.seq_q + v.rows_tiles) * row_bytes(p)};
}
KernelTraffic flash1_backward_key_traffic(const AttentionProblem& p, const TileShape&) {
  return {2 * p.seq_kv * row_bytes(p), 4 * p.seq_kv * row_bytes(p)};  // the last query sees every key
}

KernelTraffic flash2_backward_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t added = v.rows_tiles * p.head_dim * statistic, sums = p.seq_q * p.head_dim * statistic;
  return {v.rows_tiles * (2 * row_bytes(p) + 2 * statistic) + 2 * output_bytes(p) + sums,
          added + sums + p.seq_q * statistic + output_bytes(p), added};
}
KernelTraffic two_pass_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows_tiles + v.rows) * (2 * row_bytes(p) + 2 * statistic) + 2 * v.keys * row_bytes(p) + 2 * output_bytes(p),
          p.seq_q * statistic + output_bytes(p)};
}
KernelTraffic flash2_backward_key_traffic(const AttentionProblem& p, const TileShape&) {
  return {2 * p.seq_kv * row_bytes(p), 2 * p.seq_kv * row_bytes(p)};  // the last query sees every key
}

std::optional<KernelTraffic> kernel_traffic(const KernelInfo& kernel, const AttentionProblem& p, int sm_count) {
  if (kernel.plane_traffic == nullptr) return std::nullopt;
  const KernelTraffic plane = kernel.plane_traffic(p, kernel.tile(p));
  const KernelTraffic keys = kernel.key_plane_traffic != nullptr ? kernel.key_plane_traffic(p, kernel.tile(p)) : KernelTraffic{};
  const std::int64_t planes = p.query_planes(), key_planes = p.batch * p.kv_heads;
  // Each further copy of dQ_acc is zeroed and read.
  const int copies = kernel.sum_copies != nullptr ? kernel.sum_copies(p, sm_count) : 1;
  const std::int64_t more = (copies - 1) * planes * p.seq_q * p.head_dim * statistic;
  return KernelTraffic{planes * plane.l2_to_sm_bytes + key_planes * keys.l2_to_sm_bytes + more,
                       planes * plane.sm_to_l2_bytes + key_planes * keys.sm_to_l2_bytes + more,
                       planes * plane.reduce_bytes + key_planes * keys.reduce_bytes};
}

}  // namespace tilescope
