// Measurements: the bundles that the program knows — those recorded in assets/measured/, and what this run has measured itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/known_misses.h"
#include "sim/analysis/validation.h"
#include "sim/core/measurement.h"
#include "sim/core/probe_result.h"
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

}  // namespace tilescope
