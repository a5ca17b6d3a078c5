// Worker: runs the session's slow work off the frame. Results come back on the session's own thread.
//
//   submit(queue, slot, work) ──► [pending, one a slot] ──► the queue's thread ──► take_finished() runs what the work returned
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "app/model/background/work_kind.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Which work waits for which: each queue does one job at a time, beside the other queues.
enum class Queue : std::uint8_t {
  shown,       // the simulation on screen, its values and timelines
  background,  // what must not keep it waiting: studies, validation, measurements
  quick        // what takes milliseconds and waits for neither
};

/// What a queue is at.
struct WorkView {
  WorkKind kind = WorkKind::unnamed;  // `unnamed` when idle, too
  double seconds = 0;                 // how long the running job has been at it; 0 when idle
  double progress = 0;
};

/// Hears what a job does, and how far it is, 0..1.
using WorkTold = std::function<void(WorkKind kind, double fraction)>;

class Worker {
 public:
  /// Done on the session's thread once the work is over.
  using Deliver = std::function<void()>;
  /// Runs off the frame; asks `progress` now and then and stops early when it returns false.
  using Work = std::function<Deliver(const Progress& progress)>;

  struct Options {
    /// Without threads, take_finished() does the work itself.
    bool threads = true;
    /// Called from a queue's thread when a result is there; may be empty.
    std::function<void()> wake;
    /// Called on the session's thread for work that ended with an exception; may be empty.
    std::function<void(const Error&)> failed;
    /// Called where there are no threads, from whatever thread the job runs on; may be empty.
    WorkTold told;
  };

  /// A queue whose thread the machine does not give does its work without one.
  explicit Worker(Options options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Queues `work`; the lowest slot of a queue runs first. Replaces what waits in the same slot. A job of the same slot that is
  /// running may go on for `grace` in all, so that dragging a slider shows something; then it is cancelled. A running job of a
  /// higher slot is cancelled.
  void submit(Queue queue, int slot, WorkKind kind, Work work, std::chrono::milliseconds grace = std::chrono::milliseconds(0));
  /// Forgets what waits in a queue and cancels what runs.
  void cancel(Queue queue);
  /// Cancels everything and ends the threads; nothing runs afterwards.
  void stop();
  /// Cancels everything and waits at most `most` for it to end. Returns whether it has: work may wait for a GPU that never answers.
  bool stop_within(std::chrono::milliseconds most);
  /// Hands finished results over, queue by queue. True when there was one.
  bool take_finished();
  bool take_finished(Queue queue);
  /// Waits until a queue has nothing to do, handing results over.
  void finish(Queue queue);
  /// The same of all queues, one after the other.
  void finish();

  bool idle() const;
  bool idle(Queue queue) const;
  WorkView view(Queue queue) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope
