// flash2 in other tiles than its own, for the comparison of tiles: kernels/lab/record_tiles.cpp measures them.
#pragma once

#include <span>

#include "kernels/planned_launch.h"
#include "sim/core/attention_problem.h"

namespace tilescope {

/// One build, in fp16. `plan` and `tile` are those of a row of the kernel table.
struct Flash2Tile {
  int head_dim = 0;
  LaunchPlan (*plan)(const AttentionProblem&, const DeviceTensors&) = nullptr;
  TileShape (*tile)(const AttentionProblem&) = nullptr;
};
std::span<const Flash2Tile> flash2_tiles();

}  // namespace tilescope
