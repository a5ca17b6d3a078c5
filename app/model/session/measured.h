// Measured: what hardware said of the simulation on screen — recorded or live — and how far a bundle is held against the model.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/background/worker.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/measurements/measurements.h"
#include "app/model/measurements/probe_comparison.h"
#include "app/model/measurements/validation_state.h"
#include "app/model/requests/requested.h"
#include "app/model/session/derived.h"
#include "app/model/state/playback.h"
#include "app/model/state/workspace.h"

namespace tilescope {

struct ImportedCounters;  // app/model/measurements/imported_counters.h

/// What the panels read of it, until the session's next tick() or apply().
struct MeasuredView {
  const Measurements* known = nullptr;          // every bundle that is known
  const FoundCase* found = nullptr;             // the measured case of the chosen lane; null where there is none
  const ImportedCounters* imported = nullptr;   // what Nsight Compute counted of it; null where no file was opened
  const KnownProbe* probe = nullptr;            // what its real kernel recorded of itself; null where there is nothing
  const ProbeComparison* compared = nullptr;    // the probe's row beside the tile machine's; null while that is worked out
  const KnownBandwidth* bandwidth = nullptr;    // HBM samples of its real kernel; null where there are none
  const ValidationState* validation = nullptr;  // how far the recorded bundle is held against the model
};

class Measured {
 public:
  /// What it reads, and where it says what it has to say.
  struct Sources {
    Worker& worker;
    const Requested& requested;
    const Playback& playback;
    const Derived& derived;
    Workspace& workspace;
  };
  /// `threads` is how many validate at once.
  Measured(const Sources& sources, Measurements known, GpuLoader load_gpu, int threads);

  MeasuredView view() const {
    return {&known_, found_ ? &*found_ : nullptr, imported_.get(), probe_.get(), compared_.get(), bandwidth_.get(), validation_};
  }

  /// Takes in what was validated and measured since.
  void take_finished();
  /// Looks for what is known of the chosen lane, and begins what its views want.
  void ask();
  /// Lets a comparison be asked for again.
  void forget_requests() { compare_asked_ = nullptr; }

  /// Keeps counters of Nsight Compute; the newest of a run are shown.
  void keep_imported(ImportedCounters imported);
  /// Measures what is shown on this machine's GPU.
  void measure();
  /// Validates, or stops validating.
  void run_validation(bool on);
  /// Validates with a bundle whenever its GPU is the chosen one; null: with the largest of the chosen GPU.
  void validate_with(std::shared_ptr<const KnownBundle> bundle);
  /// Stops a validation that is looked at.
  void cancel();

 private:
  struct Shelf;  // what the background leaves for the session's thread to pick up

  void find();
  void choose_probe();
  void ask_for_comparison();
  ValidationState& validation_of(const std::shared_ptr<const KnownBundle>& bundle);
  void choose_validation();
  void ask_for_validation();
  void take_validated();
  void take_measured();
  void keep_bandwidth(BandwidthRecord record);
  void keep_live(const MeasurementBundle& device, MeasuredCase measured_now);
  std::int64_t shown_query() const;

  Sources from_;
  GpuLoader load_gpu_;
  int threads_;
  Measurements known_;
  std::vector<std::shared_ptr<const ImportedCounters>> all_imported_;  // the newest first
  std::shared_ptr<const ImportedCounters> imported_;                   // of what is shown
  std::shared_ptr<const Simulation> found_for_;                        // whose case `found_` is
  std::optional<FoundCase> found_;
  std::vector<std::shared_ptr<const KnownProbe>> probes_;  // of the same
  std::shared_ptr<const KnownProbe> probe_, compare_asked_;
  std::shared_ptr<const ProbeComparison> compared_;  // of `probe_`
  std::shared_ptr<const KnownBandwidth> bandwidth_;
  std::list<ValidationState> validations_;  // of every bundle that was looked at; addresses stay
  std::map<std::string, std::shared_ptr<const KnownBundle>, std::less<>> chosen_bundles_;  // by GPU: what the user chose
  ValidationState nothing_;                                                                // where no bundle is known
  ValidationState* validation_ = &nothing_;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace tilescope
