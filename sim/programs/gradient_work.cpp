// Numbers the blocks of both kinds.
#include "sim/programs/gradient_work.h"

#include "sim/programs/block_plan.h"

namespace tilescope {

GradientWork gradient_work(const TileGrid& grid, std::int64_t block) {
  const std::int64_t each = grid.key_tiles + grid.problem.heads_of_kv_head() * grid.query_tiles;
  const std::int64_t kv_plane = block / each, x = block % each;
  if (x < grid.key_tiles) return {Axis::key, kv_plane, x};
  const std::int64_t n = x - grid.key_tiles;
  return {Axis::query, grid.problem.first_query_plane_of(kv_plane) + n / grid.query_tiles, n % grid.query_tiles};
}

Domain gradient_domain(const TileGrid& grid, std::int64_t block) {
  const GradientWork work = gradient_work(grid, block);
  return BlockPlan::along(work.axis, work.plane, work.axis == Axis::key ? grid.keys(work.tile) : grid.queries(work.tile));
}

}  // namespace tilescope
