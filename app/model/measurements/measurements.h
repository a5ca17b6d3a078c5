// Measurements: the bundles that the program knows — those recorded in assets/measured/, and what this run has measured itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/known_misses.h"
#include "sim/analysis/validation.h"
#include "sim/core/measurement.h"
#include "sim/core/probe_result.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

struct KnownBundle {
  MeasurementBundle bundle;
  std::string path;      // empty for a live one
  bool live = false;     // measured by this run of the program, on this machine
  KnownMisses misses{};  // reviewed, from the file beside the bundle; none for a live one
  /// By case: the relative error of the predicted time, as tests/validation has it; NaN where it has none. Empty for a live one.
  std::vector<double> time_errors{};
  /// By case: what the model of this version gives, as tests/validation has it. Empty where no table has all cases.
  std::vector<CaseValidation> results{};
};

/// What a kernel recorded of itself, and the numbers that it was given (of the plane of the followed row).
struct KnownProbe {
  ProbeResult probe;
  InputSource inputs;
  bool live = false;
};

/// HBM samples of a kernel's life.
struct KnownBandwidth {
  BandwidthRecord record;
  bool live = false;
};

/// The GPU whose recording is held by default, where there are several: the docs stand on it.
inline constexpr std::string_view reference_gpu = "h200";

struct Measurements {
  std::vector<std::shared_ptr<const KnownBundle>> bundles;        // live ones first
  std::vector<std::shared_ptr<const KnownProbe>> probes;          // live ones first
  std::vector<std::shared_ptr<const KnownBandwidth>> bandwidths;  // live ones first
  Sentence problem;                                               // the first file that could not be read; empty if none
};

/// Loads a bundle and the list of known misses beside it, "<bundle without .json>-known-misses.toml", where there is one.
/// Errors  what read_text_file(), bundle_from_json() and known_misses_from_toml() refuse, with the path; a bundle without cases.
Result<KnownBundle> load_bundle(const std::string& path);
/// Loads the bundle that `validate` compares with by default: that of the reference GPU in assets/measured/, else the first by
/// name. Errors  those of load_bundle(), for this file; no bundle at all (machine_lacks).
Result<KnownBundle> load_default_bundle();
/// Loads the bundle of a GPU of that name in assets/measured/, "h100.json".
/// Errors  those of load_bundle(); there is none (machine_lacks); the GPU was never built
Result<KnownBundle> load_bundle_of(std::string_view gpu);
/// Loads the recorded bundles, probes and samples of assets/measured/, by name. What else is in that folder is passed over.
Measurements load_measurements();

/// Loads the recorded bundles and probes of one GPU alone, by name. Files of other GPUs are not parsed. A file that has its name
/// and cannot be read, or is no recording, is a problem.
Measurements load_measurements_of(std::string_view gpu);

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
const MeasuredCase* find_case(const Measurements& measurements, const GpuSpec& gpu, std::string_view kernel,
                              const AttentionProblem& problem);

/// Returns the probes of what was simulated, by the same rule; one a row that was followed.
std::vector<std::shared_ptr<const KnownProbe>> find_probes(const Measurements& measurements, const Simulation& simulation);
/// Returns the HBM samples of what was simulated, by the same rule; null where there are none.
std::shared_ptr<const KnownBandwidth> find_bandwidth(const Measurements& measurements, const Simulation& simulation);

/// Returns whether both give every element of Q, K and V the same value.
bool same_numbers(const InputSource& a, const InputSource& b);

/// Returns whether every SM has as many blocks as fit, in every launch.
bool has_as_many_blocks_as_fit(const Simulation& simulation);

/// Returns whether every number of the GPU is as its file has it.
bool unchanged(const GpuSpec& gpu);
/// Gives a request its GPU without changed values. Returns false, and leaves the request, where that GPU cannot be loaded.
bool take_unchanged_gpu(SimulationRequest& request);

}  // namespace tilescope
