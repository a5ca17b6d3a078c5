// Blocks that own key tiles: which query tiles they visit, and which of them have one shape. Also blocks of a launch in which some
// own key tiles and others query tiles.
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

/// The tile that a block of a launch of both kinds owns: along an axis, on a plane of that axis.
struct GradientWork {
  Axis axis = Axis::key;
  std::int64_t plane = 0, tile = 0;
};
/// Returns the work of a block of such a launch. For each key head the blocks that own keys come first, then those that own rows of
/// its query heads, as in FlexAttention's kernel.
GradientWork gradient_work(const TileGrid& grid, std::int64_t block);
/// Returns the slice that a block of such a launch owns.
Domain gradient_domain(const TileGrid& grid, std::int64_t block);

}  // namespace tilescope
