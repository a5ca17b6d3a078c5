// Which blocks of earlier launches wrote what a block reads; found by plane and rows, without emitting the whole grid.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Rows [first, end) along an axis, on one plane of that axis.
struct Slice {
  Axis axis = Axis::query;
  std::int64_t plane = 0, first = 0, end = 0;
};

/// Blocks of `launch` whose domains are along the slice's axis and share a row with it, in launch order.
/// Limits  unless the launch is mixed, the blocks of a plane follow one another, and own rows that never go back
std::vector<std::int64_t> blocks_of(const TileProgram& program, int launch, const Slice& slice);
/// The axes along which blocks of a launch own rows.
std::vector<Axis> axes_of(const LaunchSpec& launch);

/// For each launch before the block's own, the blocks that must run first, in launch order.
std::vector<std::vector<std::int64_t>> producers_of(const TileProgram& program, const BlockOperations& block);

}  // namespace tilescope
