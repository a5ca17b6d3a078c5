// Finds the run at its clock under load.
#include "app/views/timed_run.h"

#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

const Simulation& timed_run(const View& view) {
  const RunUnderLoad* const loaded = view.studies != nullptr ? view.studies->under_load.get() : nullptr;
  return loaded != nullptr ? *loaded->simulation : *view.lane().simulation;
}

const Simulation& timed_in_race(const View& view, std::size_t lane) {
  const PairUnderLoad* const timed = view.studies != nullptr ? view.studies->race.get() : nullptr;
  return timed == nullptr ? *view.lanes[lane].simulation : lane == 0 ? *timed->first : *timed->second;
}

std::string one_clock_text(std::optional<double> clock_hz, const GpuSpec& gpu, std::string_view of) {
  if (!clock_hz || *clock_hz <= 0 || *clock_hz == gpu.sm_clock_hz) return {};
  return say(tr("All at {}, the clock under load of {}."), format_clock(*clock_hz), of);
}

}  // namespace tilescope
