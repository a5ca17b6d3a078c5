// Which blocks of earlier launches wrote what a block reads; found by plane and rows, without emitting the whole grid.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Blocks of `launch` on this plane that own a query row of [first_row, end_row), in launch order.
/// Limits  the blocks of a plane follow one another, and own rows that never go back
std::vector<std::int64_t> blocks_of_rows(const TileProgram& program, int launch, std::int64_t plane, std::int64_t first_row,
                                         std::int64_t end_row);

/// For each launch before the block's own, the blocks that must run first, in launch order.
std::vector<std::vector<std::int64_t>> producers_of(const TileProgram& program, const BlockOperations& block);

}  // namespace tilescope
