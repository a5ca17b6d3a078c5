// Blocks that own key tiles: which query tiles they visit, and which of them have one shape.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/programs/block_plan.h"
#include "sim/programs/tile_grid.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// A query tile that a block with a key tile visits.
struct QueryTile {
  std::int64_t index = 0;
  bool partial = false;  // must be masked element by element
};
/// Returns the query tiles that see some key of tile `j`, ordered like the key tiles of forward programs.
std::vector<QueryTile> query_visits(const TileGrid& grid, std::int64_t plane, std::int64_t j);

/// A query tile and its plane.
struct GroupVisit {
  std::int64_t plane = 0;
  QueryTile tile;
};
/// Returns the query tiles that key tile `j` visits, over all query heads that read its key head.
std::vector<GroupVisit> group_visits(const TileGrid& grid, std::int64_t kv_plane, std::int64_t j);

/// Returns the place of a block that owns key tile `j`. If `alike`, and without a mask, all whole tiles share a shape. Otherwise
/// every tile has its own.
std::optional<BlockPlace> place_of_keys(const BlockPlan& plan, std::int64_t kv_plane, std::int64_t j, bool alike);

}  // namespace tilescope
