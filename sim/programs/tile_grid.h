// TileGrid: how a problem falls into tiles of queries and keys, and which of them a causal mask leaves to be visited.
//
//            key tiles j →            causal, aligned bottom right:
//            0    1    2                 █ full   ◣ masked   · never loaded
//   i = 0  [ ◣    ·    · ]
//   i = 1  [ █    ◣    · ]
//   i = 2  [ █    █    ◣ ]
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/attention_problem.h"
#include "sim/core/units.h"

namespace tilescope {

/// A run of rows (of Q, or of K and V): the last tile of a sequence can be short.
struct TileRange {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
};

struct TileGrid {
  AttentionProblem problem;
  TileShape tile;
  std::int64_t query_tiles = 0, key_tiles = 0;

  TileGrid(const AttentionProblem& p, const TileShape& t)
      : problem(p), tile(t), query_tiles(ceil_div(p.seq_q, t.block_q)), key_tiles(ceil_div(p.seq_kv, t.block_kv)) {}

  TileRange queries(std::int64_t i) const { return cut(i, tile.block_q, problem.seq_q); }
  TileRange keys(std::int64_t j) const { return cut(j, tile.block_kv, problem.seq_kv); }

  /// Key tiles that some row of query tile `i` sees: [0, visible_key_tiles(i)).
  std::int64_t visible_key_tiles(std::int64_t i) const {
    return ceil_div(problem.visible_keys(queries(i).end() - 1), tile.block_kv);
  }
  /// Whether some row of `queries` does not see all of `keys`. Its first row sees least.
  bool needs_mask(TileRange query_rows, TileRange key_rows) const {
    return problem.visible_keys(query_rows.first) < key_rows.end();
  }

 private:
  static TileRange cut(std::int64_t index, std::int64_t size, std::int64_t length) {
    return {index * size, std::min(size, length - index * size)};
  }
};

}  // namespace tilescope
