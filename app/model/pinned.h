// Pinned: a run that is kept beside the one on screen — its state, so that it can be opened again, and its simulation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/model/requested.h"
#include "app/model/worker.h"
#include "sim/analysis/run_comparison.h"

namespace tilescope {

struct WindowState;  // app/model/window_state.h

struct PinnedRun {
  std::string link;  // of the state, without a pinned run of its own
  std::shared_ptr<const WindowState> state;
  std::shared_ptr<const Simulation> simulation;  // null while it is simulated
};

/// What the panels read of it, until the session's next tick() or apply().
struct PinnedView {
  const PinnedRun* run = nullptr;                   // null: none is pinned
  std::shared_ptr<const RunComparison> comparison;  // pinned first, then the run on screen; null while it is worked out
  const Error* refused = nullptr;                   // why the pinned run has no simulation
};

class Pinned {
 public:
  Pinned(Worker& worker, GpuLoader load_gpu) : worker_(worker), load_gpu_(load_gpu) {}

  PinnedView view() const { return {run_ ? &*run_ : nullptr, comparison_, refused_ ? &*refused_ : nullptr}; }
  /// Keeps a run; a pinned run of its own is left out of its state.
  void pin(WindowState state, std::shared_ptr<const Simulation> simulation);
  void unpin();
  /// Takes what a state of the window has pinned: the same run stays, another one is simulated once it is looked at.
  void take(const std::optional<std::string>& link);
  /// Begins what the Compare view wants, where it is `shown`.
  void ask(const std::shared_ptr<const Simulation>& present, bool shown);
  /// Stops simulating until the view is opened again.
  void cancel();

 private:
  using Pair = std::pair<std::shared_ptr<const Simulation>, std::shared_ptr<const Simulation>>;
  void simulate_pinned();

  Worker& worker_;
  GpuLoader load_gpu_;
  std::optional<PinnedRun> run_;
  std::optional<Error> refused_;
  bool was_shown_ = false, asked_ = false;
  Pair comparing_;
  std::shared_ptr<const RunComparison> comparison_;
};

}  // namespace tilescope
