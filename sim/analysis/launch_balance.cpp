// Counts the blocks of a grid and the time in which slots have one.
#include "sim/analysis/launch_balance.h"

#include <algorithm>
#include <vector>

#include "sim/engine/recorder.h"

namespace tilescope {

LaunchWaves waves_of(const Simulation& simulation, std::size_t launch) {
  const LaunchResult& result = simulation.launches[launch];
  const std::int64_t slots = std::int64_t{result.blocks_per_sm} * static_cast<std::int64_t>(simulation.request.gpu.sm_count);
  const bool persistent = simulation.program->launches()[launch].persistent && slots < result.blocks;
  if (!persistent) return {result.blocks, result.waves, 0};
  return {slots, 1, static_cast<double>(result.blocks) / static_cast<double>(slots)};
}

double balanced_ns(const Simulation& simulation) {
  std::vector<double> in_slots(simulation.launches.size(), 0);  // cycles, summed over slots
  std::vector<double> longest(simulation.launches.size(), 0);   // of a block
  const auto runs = simulation.trace->runs();
  if (runs.size() >= Recorder::most_runs) return 0;
  for (const BlockRun& run : runs) {
    const auto launch = static_cast<std::size_t>(run.launch);
    in_slots[launch] += run.end - run.start;
    longest[launch] = std::max(longest[launch], run.end - run.start);
  }
  double saved = 0;
  for (std::size_t i = 0; i < in_slots.size(); ++i) {
    const LaunchResult& launch = simulation.launches[i];
    const double used = launch.blocks_per_sm == 1 ? launch.sm_cycles : in_slots[i];
    const double spread = used / (launch.blocks_per_sm * simulation.request.gpu.sm_count);
    saved += std::max(0.0, launch.cycles.value - std::max(spread, longest[i]));
  }
  return to_nanoseconds(Cycles(simulation.cycles.value - saved), simulation.request.gpu.clock()).value;
}

}  // namespace tilescope
