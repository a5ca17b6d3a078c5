// Computes each kernel's traffic in closed form, with causal masks and ragged tiles.
#include "kernels/kernel_traffic.h"

#include <algorithm>

#include "kernels/standard_backward/gradient_rows.h"
#include "sim/core/units.h"
#include "sim/masks/block_mask.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

namespace {

constexpr std::int64_t element = 2, statistic = 4;
constexpr std::int64_t hopper_query_box = 64;  // rows; a box of K or V is a key tile

/// What the query tiles of one head visit, summed over the tiles.
struct Visits {
  std::int64_t rows = 0;        // rows of the tiles that see at least one key
  std::int64_t keys = 0;        // keys of the visited key tiles
  std::int64_t tiles = 0;       // visited key tiles
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
    sum.tiles += tiles;
    sum.rows_tiles += rows * tiles;
    sum.rows_keys += rows * keys;
    sum.matrix += rows * std::min(row_pitch(p.seq_kv, p.dtype), tiles * tile.block_kv);
  }
  return sum;
}

std::int64_t bytes_of_row(const AttentionProblem& p) {
  return p.head_dim * element;
}
std::int64_t output_bytes(const AttentionProblem& p) {
  return p.seq_q * bytes_of_row(p);
}
std::int64_t matrix_bytes(const AttentionProblem& p, const TileShape& tile) {
  return visits_of(p, tile).matrix * element;
}

/// Returns whether an expression of the problem reads a table, whose traffic depends on what it reads.
bool reads_tables(const AttentionProblem& p) {
  if (p.score_change && !p.score_change->expression().tables.empty()) return true;
  const auto* own = dynamic_cast<const ExpressionMask*>(p.mask.get());
  return own != nullptr && !own->expression().tables.empty();
}

/// Returns the bytes of the sectors of one list; `width`: the most entries of a list.
std::int64_t list_bytes(const BlockLists& lists, std::int64_t plane, std::int64_t row, std::int64_t width) {
  const std::int64_t first = (plane * lists.rows + row) * width * 4;
  const std::int64_t end = first + static_cast<std::int64_t>(lists.row(plane, row).size()) * 4;
  return first == end ? 0 : (ceil_div(end, sector_size) - first / sector_size) * sector_size;
}

/// The bytes of the entries of a page table from one key to the end of others; 0 if K and V have no pages.
std::int64_t page_bytes(const AttentionProblem& p, std::int64_t first_key, std::int64_t end_key) {
  if (p.page_size == 0) return 0;
  const std::int64_t first = first_key / p.page_size * 4, end = ceil_div(std::min(end_key, p.seq_kv), p.page_size) * 4;
  return (ceil_div(end, sector_size) - first / sector_size) * sector_size;
}

/// Returns flash2's traffic over the listed blocks, each list's sectors, and a sector for each of the two counts.
KernelTraffic flex_traffic(const KernelInfo& kernel, const AttentionProblem& p) {
  const TileShape tile = kernel.tile(p);
  KernelTraffic sum;
  const std::int64_t planes = p.query_planes();
  sum.sm_to_l2_bytes = planes * (output_bytes(p) + p.seq_q * statistic);
  const BlockMask blocks = block_mask_of(*mask_of(p), p, mask_block_of(p, tile));
  // TMA moves whole boxes, of a page if that is smaller than a tile.
  const std::int64_t whole_box = p.page_size > 0 ? std::min(p.page_size, tile.block_kv) : tile.block_kv;
  const std::int64_t query_box = kernel.is_hopper ? hopper_query_box : 1, key_box = kernel.is_hopper ? whole_box : 1;
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t row = 0; row < blocks.rows; ++row) {
      const std::int64_t of = blocks.list_plane(plane), first = row * blocks.block.block_q;
      const std::int64_t rows = std::min(blocks.block.block_q, p.seq_q - first), query_tiles = ceil_div(rows, tile.block_q);
      std::int64_t keys = 0, first_block = blocks.cols, end_block = 0;
      for (const BlockLists* lists : {&blocks.partial, &blocks.full}) {
        for (const std::int32_t block : lists->row(of, row)) {
          keys += ceil_div(std::min(blocks.block.block_kv, p.seq_kv - block * blocks.block.block_kv), key_box) * key_box;
          first_block = std::min<std::int64_t>(first_block, block);
          end_block = std::max<std::int64_t>(end_block, block + 1);
        }
        if (p.has_mask()) sum.l2_to_sm_bytes += query_tiles * (sector_size + list_bytes(*lists, of, row, blocks.cols));
      }
      if (keys == 0) continue;
      sum.l2_to_sm_bytes += (ceil_div(rows, query_box) * query_box + query_tiles * 2 * keys) * bytes_of_row(p);
      sum.l2_to_sm_bytes += query_tiles * page_bytes(p, first_block * blocks.block.block_kv, end_block * blocks.block.block_kv);
    }
  return sum;
}

/// The traffic of flex_backward with a mask: D, then the blocks that own keys, then those that own queries.
KernelTraffic flex_backward_traffic(const KernelInfo& kernel, const AttentionProblem& p) {
  const TileShape tile = kernel.tile(p);
  const std::int64_t planes = p.query_planes(), kv_planes = p.kv_planes();
  KernelTraffic sum;
  sum.l2_to_sm_bytes = planes * 2 * output_bytes(p);
  sum.sm_to_l2_bytes = planes * (output_bytes(p) + p.seq_q * statistic) + kv_planes * 2 * p.seq_kv * bytes_of_row(p);
  const BlockMask blocks = block_mask_of(*mask_of(p), p, mask_block_of(p, tile));
  const auto rows_of = [&](std::int64_t row) { return std::min(blocks.block.block_q, p.seq_q - row * blocks.block.block_q); };
  const auto keys_of = [&](std::int64_t col) { return std::min(blocks.block.block_kv, p.seq_kv - col * blocks.block.block_kv); };
  const std::int64_t row_bytes = 2 * (bytes_of_row(p) + statistic);  // Q and dO, L and D
  const BlockLists by_column[] = {transposed(blocks.partial, blocks.cols), transposed(blocks.full, blocks.cols)};
  for (std::int64_t kv_plane = 0; kv_plane < kv_planes; ++kv_plane)
    for (std::int64_t col = 0; col < blocks.cols; ++col) {
      const std::int64_t key_tiles = ceil_div(keys_of(col), tile.block_kv);
      bool seen = false;
      for (std::int64_t member = 0; member < p.heads_of_kv_head(); ++member) {
        const std::int64_t of = blocks.list_plane(p.first_query_plane_of(kv_plane) + member);
        for (const BlockLists& lists : by_column) {
          std::int64_t rows = 0;
          for (const std::int32_t block : lists.row(of, col)) rows += rows_of(block);
          sum.l2_to_sm_bytes += key_tiles * (sector_size + list_bytes(lists, of, col, blocks.rows) + rows * row_bytes);
          seen = seen || rows > 0;
        }
      }
      if (seen) sum.l2_to_sm_bytes += 2 * keys_of(col) * bytes_of_row(p);
    }
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t row = 0; row < blocks.rows; ++row) {
      const std::int64_t of = blocks.list_plane(plane), query_tiles = ceil_div(rows_of(row), tile.block_q);
      std::int64_t keys = 0;
      for (const BlockLists* lists : {&blocks.partial, &blocks.full}) {
        for (const std::int32_t block : lists->row(of, row)) keys += keys_of(block);
        sum.l2_to_sm_bytes += query_tiles * (sector_size + list_bytes(*lists, of, row, blocks.cols));
      }
      if (keys > 0) sum.l2_to_sm_bytes += rows_of(row) * row_bytes + query_tiles * 2 * keys * bytes_of_row(p);
    }
  return sum;
}

}  // namespace

KernelTraffic naive_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows_tiles + v.rows_keys) * bytes_of_row(p), v.matrix * element};
}

KernelTraffic tiled_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows_tiles + v.keys) * bytes_of_row(p), v.matrix * element};
}

KernelTraffic safe_traffic(const AttentionProblem& p, const TileShape& tile) {
  return {3 * matrix_bytes(p, tile), matrix_bytes(p, tile)};
}

KernelTraffic online_traffic(const AttentionProblem& p, const TileShape& tile) {
  return {2 * matrix_bytes(p, tile), matrix_bytes(p, tile)};
}

KernelTraffic fused_traffic(const AttentionProblem& p, const TileShape& tile) {
  return {matrix_bytes(p, tile) + visits_of(p, tile).rows_keys * bytes_of_row(p), output_bytes(p)};
}

KernelTraffic standard_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t reads_of_s = rows_of_block(p).kept_bytes > 0 ? 1 : 2;
  return {(v.rows_tiles + 2 * v.keys) * bytes_of_row(p) + (reads_of_s + 1) * v.matrix * element,
          2 * v.matrix * element + output_bytes(p)};
}

KernelTraffic flash1_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t step = bytes_of_row(p) + 2 * statistic;  // one row's O, l and m, which cross in every step
  return {2 * p.seq_kv * bytes_of_row(p) + v.rows_tiles * (bytes_of_row(p) + step), (p.seq_q + v.rows_tiles) * step};
}

KernelTraffic flash2_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows + 2 * v.keys) * bytes_of_row(p), output_bytes(p) + p.seq_q * statistic};
}

KernelTraffic hopper_traffic(const AttentionProblem& p, const TileShape& tile) {
  constexpr std::int64_t box_rows = hopper_query_box;
  std::int64_t box_bytes = 0;
  for (std::int64_t first = 0; first < p.seq_q; first += tile.block_q) {
    const std::int64_t rows = std::min(tile.block_q, p.seq_q - first);
    const std::int64_t tiles = ceil_div(p.visible_keys(first + rows - 1), tile.block_kv);
    if (tiles > 0) box_bytes += (ceil_div(rows, box_rows) * box_rows + 2 * tiles * tile.block_kv) * bytes_of_row(p);
  }
  return {box_bytes, output_bytes(p) + p.seq_q * statistic};
}

KernelTraffic hopper_causal_traffic(const AttentionProblem& p, const TileShape& tile) {
  const KernelTraffic tiles = hopper_traffic(p, tile);
  const std::int64_t drawn = ceil_div(p.seq_q, tile.block_q) * sector_size;
  return {tiles.l2_to_sm_bytes + drawn, tiles.sm_to_l2_bytes + drawn};
}

KernelTraffic hopper_causal_block_traffic(const AttentionProblem& p, const TileShape& tile, int sm_count) {
  constexpr std::int64_t counters = 2;
  const std::int64_t blocks = std::min<std::int64_t>(sm_count, p.query_planes() * ceil_div(p.seq_q, tile.block_q));
  return {blocks * sector_size, (blocks + counters) * sector_size};
}

KernelTraffic standard_backward_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t reads_of_rows = gradient_rows_of_block(p).kept_bytes > 0 ? 1 : 2;
  return {(3 * v.rows_tiles + 2 * v.keys) * bytes_of_row(p) + (3 + 2 * reads_of_rows) * v.matrix * element,
          2 * v.matrix * element + output_bytes(p)};
}
KernelTraffic standard_backward_key_traffic(const AttentionProblem& p, const TileShape&) {
  return {0, 2 * p.seq_kv * bytes_of_row(p)};
}

KernelTraffic flash1_backward_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {v.rows_tiles * (4 * bytes_of_row(p) + 2 * statistic), (p.seq_q + v.rows_tiles) * bytes_of_row(p)};
}
KernelTraffic flash1_backward_key_traffic(const AttentionProblem& p, const TileShape&) {
  return {2 * p.seq_kv * bytes_of_row(p), 4 * p.seq_kv * bytes_of_row(p)};  // the last query sees every key
}

KernelTraffic flash2_backward_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  const std::int64_t added = v.rows_tiles * p.head_dim * statistic, sums = p.seq_q * p.head_dim * statistic;
  return {v.rows_tiles * (2 * bytes_of_row(p) + 2 * statistic) + 2 * output_bytes(p) + sums,
          added + sums + p.seq_q * statistic + output_bytes(p), added};
}
KernelTraffic flash3_backward_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  KernelTraffic traffic = flash2_backward_traffic(p, tile);
  traffic.l2_to_sm_bytes += (v.tiles * tile.block_q - v.rows_tiles) * 2 * bytes_of_row(p);  // TMA moves whole boxes
  return traffic;
}
KernelTraffic flash3_backward_key_traffic(const AttentionProblem& p, const TileShape& tile) {
  return {2 * ceil_div(p.seq_kv, tile.block_kv) * tile.block_kv * bytes_of_row(p), 2 * p.seq_kv * bytes_of_row(p)};
}
KernelTraffic two_pass_traffic(const AttentionProblem& p, const TileShape& tile) {
  const Visits v = visits_of(p, tile);
  return {(v.rows_tiles + v.rows) * (2 * bytes_of_row(p) + 2 * statistic) + 2 * v.keys * bytes_of_row(p) + 2 * output_bytes(p),
          p.seq_q * statistic + output_bytes(p)};
}
KernelTraffic flash2_backward_key_traffic(const AttentionProblem& p, const TileShape&) {
  return {2 * p.seq_kv * bytes_of_row(p), 2 * p.seq_kv * bytes_of_row(p)};  // the last query sees every key
}

std::optional<KernelTraffic> kernel_traffic(const KernelInfo& kernel, const AttentionProblem& p, int sm_count) {
  if (kernel.choice != nullptr) return kernel_traffic(launched_kernel(kernel, p), p, sm_count);
  if (kernel.plane_traffic == nullptr || reads_tables(p)) return std::nullopt;
  if (kernel.takes_masks && (p.has_mask() || p.page_size > 0))
    return kernel.pass == Pass::backward ? flex_backward_traffic(kernel, p) : flex_traffic(kernel, p);
  const KernelTraffic plane = kernel.plane_traffic(p, kernel.tile(p));
  const KernelTraffic keys = kernel.key_plane_traffic != nullptr ? kernel.key_plane_traffic(p, kernel.tile(p)) : KernelTraffic{};
  const std::int64_t planes = p.query_planes(), key_planes = p.batch * p.kv_heads;
  // Each further copy of dQ_acc is zeroed and read.
  const int copies = kernel.sum_copies != nullptr ? kernel.sum_copies(p, sm_count) : 1;
  const std::int64_t more = (copies - 1) * planes * p.seq_q * p.head_dim * statistic;
  const KernelTraffic blocks =
      kernel.block_traffic != nullptr ? kernel.block_traffic(p, kernel.tile(p), sm_count) : KernelTraffic{};
  return KernelTraffic{planes * plane.l2_to_sm_bytes + key_planes * keys.l2_to_sm_bytes + more + blocks.l2_to_sm_bytes,
                       planes * plane.sm_to_l2_bytes + key_planes * keys.sm_to_l2_bytes + more + blocks.sm_to_l2_bytes,
                       planes * plane.reduce_bytes + key_planes * keys.reduce_bytes};
}

}  // namespace tilescope
