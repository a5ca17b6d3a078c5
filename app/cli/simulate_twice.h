// simulate_twice(): simulates a request and the run without its bottleneck, on two threads if that saves time.
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

/// The bottleneck is known only after the first run. So the second thread starts with a guess, and repeats if the guess was wrong;
/// the result is the same. Errors  those of simulate().
Result<SimulatedTwice> simulate_twice(const SimulationRequest& request);

}  // namespace tilescope
