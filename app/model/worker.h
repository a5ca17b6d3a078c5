// Worker: runs the session's slow work off the frame, one job at a time; results come back on the session's own thread.
//
//   submit(slot, work) ──► [pending, one a slot] ──► thread ──► take_finished() runs what the work returned
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "sim/engine/simulation.h"

namespace tilescope {

/// What a job does, and how far it is, 0..1.
using WorkTold = std::function<void(const std::string& what, double fraction)>;

class Worker {
 public:
  /// Done on the session's thread once the work is over.
  using Deliver = std::function<void()>;
  /// Runs off the frame; asks `progress` now and then and stops early when it returns false.
  using Work = std::function<Deliver(const Progress& progress)>;

  /// Without threads, take_finished() does the work itself. `wake` is called from the thread when a result is there; may be empty.
  /// `told`, which may be empty, hears how far a job is where there are no threads; it is called from whatever thread the job runs
  /// on.
  Worker(bool threads, std::function<void()> wake, WorkTold told = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Queues `work`; the lowest slot runs first. Replaces what waits in the same slot. A job of the same slot that is running may go
  /// on for `grace` in all, so that dragging a slider shows something; then it is cancelled. A running job of a higher slot is
  /// cancelled.
  void submit(int slot, std::string what, Work work, std::chrono::milliseconds grace = std::chrono::milliseconds(0));
  /// Forgets what waits and cancels what runs.
  void cancel_all();
  /// Hands finished results over. True when there was one.
  bool take_finished();
  /// Waits until nothing waits or runs, handing results over.
  void finish();

  bool idle() const;
  /// How long the running job has been at it; 0 when idle.
  double busy_seconds() const;
  double progress() const;
  std::string what() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope
