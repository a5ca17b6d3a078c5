// The reads of a problem's tables, and the bytes that their gradients move.
#include "sim/programs/gathered_reads.h"

#include <algorithm>
#include <span>
#include <string>

#include "sim/core/mask.h"
#include "sim/programs/block_plan.h"
#include "sim/programs/table_tensors.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

std::vector<GatheredRead> gathered_reads(const AttentionProblem& problem, const TileShape& tile) {
  std::vector<GatheredRead> reads;
  if (!problem.score_change) return reads;
  const std::span<const TableGradient> all = problem.score_change->table_gradients();
  for (std::size_t n = 0; n < all.size(); ++n) {
    const std::string& name = all[n].table->name;
    const Tensor gradient = tables::gradient(n, name);
    for (const TableRead& read : all[n].reads) {
      const std::size_t number = reads.size();
      GatheredRead made{&read,       number, gradient, ChipTile::none, ChipTile::none, problem.score_change->factor_cost(read),
                        std::nullopt};
      if (all[n].in_order) made.parts.emplace(read, problem, tile);
      made.gathered =
          tables::gathered(number, made.parts ? tables::parts(n, number, name) : gradient, made.parts && !made.is_kept());
      if (read.factor) made.factor = tables::factor(number, name);
      reads.push_back(made);
    }
  }
  return reads;
}

std::int64_t gather_operations(TableReach reach) {
  return reach == TableReach::pair ? 16 : reach == TableReach::distance ? 3 : 2;
}

std::optional<Bytes> gathered_bytes(const AttentionProblem& p, const TileGrid& grid, const GatheredRead& read) {
  if (!read.read->is_exact()) return std::nullopt;
  const Tensor tensor = read.gathered.tensor();
  const TensorLayout layout = tensor_layout(p, grid.tile, tensor);
  const TileShape block = p.has_mask() ? mask_block_of(p, grid.tile) : grid.tile;
  const auto cut = [](std::int64_t first, std::int64_t size, std::int64_t length) {
    return TileRange{first, std::min(size, length - first)};
  };
  std::int64_t sectors = 0;
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane)
    for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
      const TileRange queries = grid.queries(i);
      const TileRange block_queries = cut(queries.first / block.block_q * block.block_q, block.block_q, p.seq_q);
      const auto add = [&](std::int64_t j, TileRange keys) {
        sectors += tables::sectors_added(*read.read, layout, tile_of(tensor, read.box(plane, i, queries, j, keys)));
      };
      bool sees = false;
      for (std::int64_t j = 0; j < grid.key_tiles; ++j) {
        const TileRange keys = grid.keys(j);
        if (grid.mask->tile(plane, block_queries, cut(keys.first / block.block_kv * block.block_kv, block.block_kv, p.seq_kv)) ==
            TileVisibility::empty)
          continue;
        if (!read.is_kept()) add(j, keys);
        sees = true;
      }
      if (read.is_kept() && sees) add(0, {0, 1});
    }
  return Bytes(sectors * sector_size);
}

Bytes summed_bytes(const AttentionProblem& p, const TileGrid& grid, const GatheredRead& read, const TensorLayout& table) {
  const TensorLayout layout = tensor_layout(p, grid.tile, read.gathered.tensor());
  const int step = read.read->reach == TableReach::key ? read.read->per_key : read.read->per_query;
  std::int64_t sectors = 0;
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane) {
    const TableRead::Origin origin = read.read->origin(plane);
    if (origin.row < 0 || origin.row >= table.rows) continue;
    // What a place holds, element by element, cut where a chunk of the table ends.
    const auto cut = [&](TableBox box, std::int64_t least) {
      const auto element = [&](std::int64_t n) { return origin.col + step * (least + n); };
      const auto chunk = [&](std::int64_t n) { return element(n) < 0 || element(n) >= table.cols ? -1 : element(n) / table_chunk; };
      for (std::int64_t n = 0, end = 0; n < box.cols; n = end) {
        for (end = n + 1; end < box.cols && chunk(end) == chunk(n);) ++end;
        if (chunk(n) >= 0) sectors += sectors_touched(layout, tile_of(read.gathered.tensor(), {box.row, 1, box.col + n, end - n}));
      }
    };
    if (read.read->reach == TableReach::head && origin.col >= 0 && origin.col < table.cols)
      sectors += sectors_touched(layout, tile_of(read.gathered.tensor(), {plane, 1, 0, grid.query_tiles}));
    if (read.read->reach == TableReach::query) cut({plane, 1, 0, p.seq_q}, 0);
    for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
      if (read.read->reach == TableReach::key) cut({plane * grid.query_tiles + i, 1, 0, p.seq_kv}, 0);
      for (std::int64_t j = 0; read.read->reach == TableReach::distance && j < grid.key_tiles; ++j)
        cut(read.parts->box(plane, i, grid.queries(i), j, grid.keys(j)), grid.queries(i).first - (grid.keys(j).end() - 1));
    }
  }
  return Bytes(sectors * sector_size);
}

}  // namespace tilescope
