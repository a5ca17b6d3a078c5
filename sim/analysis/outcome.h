// Outcome: the few figures that studies of many simulations keep of each, and the comparison of two GPUs by their numbers.
#pragma once

#include <array>
#include <string>

#include "sim/core/tensor.h"
#include "sim/engine/simulation.h"

namespace tilescope {

struct Outcome {
  Sentence refusal;  // why there is no simulation, as a sentence; empty where there is one
  TileShape tile;
  int blocks_per_sm = 0;                   // of the launch that takes longest
  std::array<double, link_count> bytes{};  // by Link
  double hbm_write_after_flush_bytes = 0;  // hbm_write and what is still dirty in the L2 at the end
  double cycles = 0, time_ns = 0;
  double flops = 0;
  Bound bound = Bound::latency;

  bool done() const { return refusal.empty(); }
  double on(Link link) const { return bytes[static_cast<std::size_t>(link)]; }
  /// Both directions; of HBM with what a flush writes, so that it does not depend on where the run happens to end.
  double hbm() const { return on(Link::hbm_read) + hbm_write_after_flush_bytes; }
  double sm_link() const { return on(Link::l2_to_sm) + on(Link::sm_to_l2); }
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Simulation& simulation);

/// Simulates and keeps the figures; what simulate() refuses is an outcome too.
/// Errors  cancelled.
Result<Outcome> simulate_outcome(const SimulationRequest& request, const Progress& progress = {});

/// Whether every number of the model is the same; where the numbers are from does not matter.
bool same_numbers(const GpuSpec& a, const GpuSpec& b);
/// Whether the two ask for the same simulation, apart from the SM in focus.
bool same_request(const SimulationRequest& a, const SimulationRequest& b);

}  // namespace tilescope
