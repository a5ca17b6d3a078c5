// simulate_run_and_next_limit(): a run, and what would bound it next. The second question takes a second simulation.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "app/model/measurements/run_under_load.h"
#include "sim/analysis/next_limit.h"

namespace tilescope {

struct RunAndNextLimit {
  std::shared_ptr<const Simulation> simulation;
  std::chrono::duration<double, std::milli> wall{};  // of the simulation alone
  std::optional<RunUnderLoad> under_load;            // absent where no clock is known
  PredictionErrors errors;                           // how far such times were off
  double recorded_lookups = 0;                       // bytes that the L2 looked up on the unchanged GPU; 0: not recorded
  std::optional<NextLimit> next;                     // of the run under load, if there is one; absent where it cannot be simulated
};

/// What hears how far the simulations are, and may stop them.
struct Watch {
  std::function<bool(std::string_view what, double fraction)> show = {};  // returns whether to go on; from one thread
  std::function<bool()> stopped = {};                                     // the same, asked from any thread
};

/// Simulates a request, then the same run at the clock under load, and then without what bounds it. The bound is known only after
/// the run, so a second thread begins with the bound that is likely, and the simulation is done again where the guess was wrong:
/// the result is the same. Errors  those of simulate(); cancelled
Result<RunAndNextLimit> simulate_run_and_next_limit(const SimulationRequest& request, const Recordings& recordings = {},
                                                    const Watch& watch = {});

}  // namespace tilescope
