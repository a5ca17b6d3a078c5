// Walks the grid from the side of the keys.
#include "sim/programs/key_blocks.h"

#include <algorithm>

#include "sim/programs/attention_tensors.h"

namespace tilescope {

std::vector<QueryTile> query_visits(const TileGrid& grid, std::int64_t plane, std::int64_t j) {
  std::vector<QueryTile> found;
  for (std::int64_t i = 0; i < grid.query_tiles; ++i)
    if (const TileVisibility seen = grid.visibility(plane, i, j); seen != TileVisibility::empty)
      found.push_back({i, seen == TileVisibility::partial});
  if (grid.key_order == KeyOrder::descending) std::reverse(found.begin(), found.end());
  return found;
}

std::vector<GroupVisit> group_visits(const TileGrid& grid, std::int64_t kv_plane, std::int64_t j) {
  std::vector<GroupVisit> found;
  const std::int64_t first = grid.problem.first_query_plane_of(kv_plane);
  for (std::int64_t plane = first; plane < first + grid.problem.heads_of_kv_head(); ++plane)
    for (const QueryTile& tile : query_visits(grid, plane, j)) found.push_back({plane, tile});
  return found;
}

std::optional<BlockPlace> place_of_keys(const BlockPlan& plan, std::int64_t kv_plane, std::int64_t j, bool alike) {
  const AttentionProblem& problem = plan.grid.problem;
  if (!plan.rows_are_whole(tensors::q) || problem.mask) return std::nullopt;
  const TileRange keys = plan.grid.keys(j);
  const std::int64_t column = alike && !problem.has_mask() ? 0 : 1 + j;
  BlockPlace place = plan.place(0, keys, plan.with_statistic(column, problem.first_query_plane_of(kv_plane), 0));
  place.domain = BlockPlan::along(Axis::key, kv_plane, keys);
  return place;
}

}  // namespace tilescope
