// Collects shapes and block maps, launch by launch.
#include "app/model/run_data/stage_facts.h"

#include "sim/analysis/link_bins.h"

namespace tilescope {

LinkRates make_link_rates(const Simulation& simulation) {
  const TimeBins& bins = simulation.trace->bins();
  const GpuSpec& gpu = simulation.request.gpu;
  const double hbm = hbm_peak(gpu);
  return {bins.width, hbm_bytes_by_bin(bins, hbm), l2_bytes_by_bin(bins, gpu)};
}

StageFacts make_stage_facts(const Simulation& simulation) {
  StageFacts facts;
  for (int launch = 0; launch < static_cast<int>(simulation.program->launches().size()); ++launch) {
    facts.shapes.push_back(program_shape(*simulation.info, *simulation.program, launch));
    facts.maps.emplace_back(*simulation.program, launch);
  }
  facts.rates = make_link_rates(simulation);
  return facts;
}

}  // namespace tilescope
