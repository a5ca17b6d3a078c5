// Pinned: runs that are kept beside the one on screen — their states, so that they can be opened again, and their simulations.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/model/background/worker.h"
#include "app/model/measurements/runs_at_clock.h"
#include "app/model/requests/requested.h"
#include "app/model/session/studies.h"
#include "app/model/state/compared_runs.h"
#include "sim/analysis/run_comparison.h"

namespace tilescope {

struct WindowState;   // app/model/state/window_state.h
struct TimelineData;  // app/model/run_data/timeline_data.h

struct PinnedRun {
  std::string link;  // of the state, without pinned runs of its own
  std::shared_ptr<const WindowState> state;
  std::shared_ptr<const Simulation> simulation;  // null while it is not simulated
  std::optional<Error> refused;                  // why it cannot be
};

/// The pinned run that the views about a whole run show beside the one on screen: of the two that are compared, the first one that
/// is not on screen itself.
struct BesideRun {
  int place = 0;  // from 1
  std::shared_ptr<const Simulation> simulation;
  std::shared_ptr<const PairUnderLoad> timed;    // the run on screen and this one, at the clock of the first; null while simulated
  std::shared_ptr<const RooflineKernel> kernel;  // its points under the roofline, at that clock; null while they are worked out
  std::shared_ptr<const TimelineData> timeline;  // of the SM that was in focus; null while it is laid out
};

/// What the panels read of it, until the session's next tick() or apply().
struct PinnedView {
  std::span<const PinnedRun> runs;
  ComparedRuns compared;                            // two different ones, where a run is pinned
  std::shared_ptr<const RunComparison> comparison;  // of `compared`, at one clock; null while it is worked out
  const Error* refused = nullptr;                   // why one of the two has no simulation
  const BesideRun* beside = nullptr;                // null where there is none, or while it is simulated
};

class Pinned {
 public:
  Pinned(Worker& worker, GpuLoader load_gpu) : worker_(worker), load_gpu_(load_gpu) {}

  PinnedView view() const;
  /// Keeps a run, and compares it with the one on screen. The same run is kept once; beyond most_pinned the oldest goes.
  void pin(WindowState state, std::shared_ptr<const Simulation> simulation);
  /// Forgets the run of a place, from 1; every run for 0.
  void unpin(int place);
  /// Chooses what is compared; what is not there, or the same run twice, is passed over.
  void compare(ComparedRuns runs);
  /// Takes what a state of the window has pinned: the same runs stay, others are simulated once they are looked at.
  void take(const std::vector<std::string>& links, ComparedRuns compared);
  /// Begins what the views want: the run beside `present`, and what the Compare view wants, where it is `shown`.
  void ask(const std::shared_ptr<const Simulation>& present, bool shown, const Measurements& known);
  /// Stops simulating until the view is opened again.
  void cancel();

 private:
  using Pair = std::pair<std::shared_ptr<const Simulation>, std::shared_ptr<const Simulation>>;
  void choose_beside(const std::shared_ptr<const Simulation>& present, const Measurements& known);
  /// Begins the simulation of a run that has none and was not refused, unless another one is under way.
  void want(PinnedRun& run);
  void simulate_pinned(PinnedRun& run);
  bool is_compared(int place) const { return place == compared_.first || place == compared_.second; }
  void forget_comparison();

  Worker& worker_;
  GpuLoader load_gpu_;
  std::vector<PinnedRun> runs_;
  ComparedRuns compared_;
  bool was_shown_ = false;
  std::string asked_;  // the link of the run that is simulated
  Pair comparing_;
  std::shared_ptr<const RunComparison> comparison_;
  std::optional<Error> comparison_refused_;
  BesideRun beside_;
  std::shared_ptr<const Simulation> beside_present_;  // the run on screen that it is timed with
  bool beside_given_up_ = false;
};

}  // namespace tilescope
