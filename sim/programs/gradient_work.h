// GradientWork: what a block owns in a launch in which some blocks own key tiles and others query tiles.
#pragma once

#include <cstdint>

#include "sim/programs/tile_grid.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

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
