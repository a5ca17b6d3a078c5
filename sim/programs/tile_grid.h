// TileGrid: the query and key tiles of a problem, and the key tiles that a query tile visits, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/mask.h"
#include "sim/core/units.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// A key tile that a block visits.
struct KeyTile {
  std::int64_t index = 0;
  bool partial = false;  // must be masked element by element
};

struct TileGrid {
  AttentionProblem problem;
  TileShape tile;
  KeyOrder key_order;
  std::shared_ptr<const Mask> mask;
  std::int64_t query_tiles = 0, key_tiles = 0;

  TileGrid(const AttentionProblem& p, const ProgramTile& t)
      : problem(p),
        tile(t),
        key_order(t.key_order),
        mask(mask_of(p)),
        query_tiles(ceil_div(p.seq_q, t.block_q)),
        key_tiles(ceil_div(p.seq_kv, t.block_kv)) {}

  TileRange queries(std::int64_t i) const { return cut(i, tile.block_q, problem.seq_q); }
  TileRange keys(std::int64_t j) const { return cut(j, tile.block_kv, problem.seq_kv); }
  bool is_whole(const KeyTile& key_tile) const { return keys(key_tile.index).count == tile.block_kv; }

  /// A block that owns a query tile, of a launch with one for each tile and plane.
  struct QueryBlock {
    std::int64_t tile = 0, plane = 0;
  };
  QueryBlock query_block(std::int64_t block) const { return {block % query_tiles, block / query_tiles}; }

  /// A block that owns a pair of tiles, of a launch with one for each pair and plane; the key tiles come fastest.
  struct PairBlock {
    std::int64_t query_tile = 0, key_tile = 0, plane = 0;
  };
  PairBlock pair_block(std::int64_t block) const {
    const std::int64_t row = block / key_tiles;
    return {row % query_tiles, block % key_tiles, row / query_tiles};
  }

  TileVisibility visibility(std::int64_t plane, std::int64_t i, std::int64_t j) const {
    return mask->tile(plane, queries(i), keys(j));
  }
  /// Returns the key tiles that query tile `i` of a plane visits, in order.
  std::vector<KeyTile> visits(std::int64_t plane, std::int64_t i) const {
    std::vector<KeyTile> found;
    for (std::int64_t j = 0; j < key_tiles; ++j)
      if (const TileVisibility seen = visibility(plane, i, j); seen != TileVisibility::empty)
        found.push_back({j, seen == TileVisibility::partial});
    if (key_order == KeyOrder::descending) std::reverse(found.begin(), found.end());
    return found;
  }
  /// Returns the class of a query tile. Tiles with equal class and number of rows visit the same key tiles in the same way.
  std::int64_t row_class(std::int64_t plane, std::int64_t i) const { return mask->row_class(plane, i); }

 private:
  static TileRange cut(std::int64_t index, std::int64_t size, std::int64_t length) {
    return {index * size, std::min(size, length - index * size)};
  }
};

}  // namespace tilescope
