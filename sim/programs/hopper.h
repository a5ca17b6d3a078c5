// The tile program of a rung of the ladder to Hopper.
#pragma once

#include <memory>
#include <string_view>

#include "sim/programs/hopper_rung_id.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Makes the program of a rung. `name` is what errors call it.
Result<std::unique_ptr<TileProgram>> make_hopper_rung(HopperRungId id, std::string_view name, const AttentionProblem& problem,
                                                      const ProgramTile& tile, const GpuSpec& gpu);

}  // namespace tilescope
