// Arrival: a simulation with what is worked out of it, off the frame, before it is shown.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "app/model/requests/racers.h"
#include "app/model/run_data/timeline_data.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Which block: a simulation, a launch and a block of it.
struct BlockKey {
  std::shared_ptr<const Simulation> simulation;
  int launch = 0;
  std::int64_t block = 0;
  bool operator==(const BlockKey&) const = default;
};

/// Which SM of which simulation.
struct TimelineKey {
  std::shared_ptr<const Simulation> simulation;
  int sm = 0;
  bool operator==(const TimelineKey&) const = default;
};

struct Arrival {
  std::shared_ptr<const Simulation> simulation;
  TimelineKey timeline_key;
  std::shared_ptr<const TimelineData> timeline;
  std::int64_t opening_step = 0;
  bool mask_shows_nothing = false;
  std::vector<std::pair<BlockKey, std::shared_ptr<const BlockOperations>>> blocks;  // of the steps that may be shown first
};

/// Simulates the request, in a race beside its companion. Errors  those of simulate().
Result<std::vector<std::shared_ptr<const Simulation>>> simulate_lanes(const SimulationRequest& request, const Race& race,
                                                                      const Progress& progress);
/// `steps` are those of the last simulation that may be shown first, besides its opening one; the others stand at the same moments.
std::vector<Arrival> make_arrivals(std::vector<std::shared_ptr<const Simulation>> simulations, int focus_sm,
                                   const std::vector<std::int64_t>& steps);

/// The key of `sm`, or of the simulation's first SM in focus where `sm` is not.
TimelineKey timeline_key(const std::shared_ptr<const Simulation>& simulation, int sm);
std::shared_ptr<const TimelineData> lay_out_timeline_of(const TimelineKey& key);
std::shared_ptr<const BlockOperations> write_out(const BlockKey& key);

/// The step the window opens on: where the second key tile rescales what the first one left, else the first product or exponential,
/// else the middle.
std::int64_t opening_step(const Simulation& simulation, int sm);

}  // namespace tilescope
