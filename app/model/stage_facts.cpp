// Collects shapes and block maps, launch by launch.
#include "app/model/stage_facts.h"

namespace tilescope {

StageFacts make_stage_facts(const Simulation& simulation) {
  StageFacts facts;
  for (int launch = 0; launch < static_cast<int>(simulation.program->launches().size()); ++launch) {
    facts.shapes.push_back(program_shape(*simulation.info, *simulation.program, launch));
    facts.maps.emplace_back(*simulation.program, launch);
  }
  return facts;
}

}  // namespace tilescope
