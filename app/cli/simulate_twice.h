// simulate_twice(): a simulation and what would bound it next, on two threads where that saves time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "sim/analysis/next_limit.h"

namespace tilescope {

struct SimulatedTwice {
  std::shared_ptr<const Simulation> simulation;
  std::chrono::duration<double, std::milli> wall{};  // of the simulation alone
  std::optional<NextLimit> next;                     // absent where it cannot be simulated
};

/// The run without what bounds it can be simulated only once that is known. On a second thread it is begun with what probably
/// bounds the run, and done again afterwards where that was something else: the result is the same. Errors  those of simulate().
Result<SimulatedTwice> simulate_twice(const SimulationRequest& request);

}  // namespace tilescope
