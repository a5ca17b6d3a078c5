// block_of_row(): which block of a launch has a row of the queries, and which plane of them an operation works on.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Returns the block of a launch that has a row of a plane; nullopt where none has.
std::optional<std::int64_t> block_of_row(const TileProgram& program, int launch, std::int64_t plane, std::int64_t query);

/// Returns the plane of the queries that an operation works on.
std::int64_t query_plane(const BlockOperations& block, int op);

}  // namespace tilescope
