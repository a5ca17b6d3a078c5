// Which recording is of what was simulated: the same kernel, problem and tile, on the same GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "app/model/measurements/measurements.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// A case of a bundle.
struct FoundCase {
  std::shared_ptr<const KnownBundle> bundle;
  std::size_t index = 0;
  const MeasuredCase& measured() const { return bundle->bundle.cases[index]; }
};

/// Returns the measured case of what was simulated: the same kernel, problem and tile on the same GPU with no number changed,
/// blocks in the kernel's order and as many on an SM as fit. nullopt where there is none.
std::optional<FoundCase> find_case(const Measurements& measurements, const Simulation& simulation);
/// Returns the same of a request that need not be simulated for it.
std::optional<FoundCase> find_case(const Measurements& measurements, const SimulationRequest& request);

/// Returns the first case of a kernel on a problem without a mask and a GPU, with any tile; nullptr where there is none. A
/// kernel that launches another one, as flash3 does, has that one's case where it was not measured itself.
const MeasuredCase* find_case_in_any_tile(const Measurements& measurements, const GpuSpec& gpu, std::string_view kernel,
                                          const AttentionProblem& problem);

/// Returns the bytes that the L2 looked up for the recorded run of a request on the GPU without its changes; 0: not recorded.
double recorded_lookups(const Measurements& measurements, const SimulationRequest& request);

/// Returns the probes of what was simulated, by the same rule; one a row that was followed.
std::vector<std::shared_ptr<const KnownProbe>> find_probes(const Measurements& measurements, const Simulation& simulation);
/// Returns the HBM samples of what was simulated, by the same rule; null where there are none.
std::shared_ptr<const KnownBandwidth> find_bandwidth(const Measurements& measurements, const Simulation& simulation);

/// Returns whether every SM has as many blocks as fit, in every launch.
bool has_as_many_blocks_as_fit(const Simulation& simulation);

}  // namespace tilescope
