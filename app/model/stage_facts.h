// StageFacts: what the stage needs to know of a simulation's program, learned from a few of its blocks once and off the frame: a
// block of flash1 is hundreds of thousands of operations.
#pragma once

#include <vector>

#include "app/model/program_shape.h"
#include "app/model/tile_history.h"

namespace tilescope {

struct StageFacts {
  std::vector<ProgramShape> shapes;  // by launch
  std::vector<BlockMap> maps;        // by launch
};

StageFacts make_stage_facts(const Simulation& simulation);

}  // namespace tilescope
