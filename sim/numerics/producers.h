// Finds the blocks of earlier launches that produce a block's data. It searches by plane and rows instead of emitting the grid.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Rows [first, end) of one plane, along the query or the key axis.
struct Slice {
  Axis axis = Axis::query;
  std::int64_t plane = 0, first = 0, end = 0;
};

/// Returns the blocks of `launch` whose domains overlap the slice, in launch order.
/// Limits  unless the launch is mixed, the blocks of a plane are consecutive, and their first rows never decrease
std::vector<std::int64_t> blocks_of(const TileProgram& program, int launch, const Slice& slice);
/// Returns the axes along which the blocks of a launch own rows.
std::vector<Axis> axes_of(const LaunchSpec& launch);

/// Returns the blocks of the same launch that come before `block` and add to what it adds to, in launch order.
std::vector<std::int64_t> adders_before(const TileProgram& program, const BlockOperations& block);

/// Returns, for each launch before that of `block`, the blocks that must run first, in launch order. `adders`: blocks of its own
/// launch that must run before it too; they are then the last element.
std::vector<std::vector<std::int64_t>> producers_of(const TileProgram& program, const BlockOperations& block,
                                                    const std::vector<std::int64_t>& adders = {});

}  // namespace tilescope
