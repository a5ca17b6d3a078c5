// Replay: moves an SM from one load to its next, by replaying a recorded stretch where there is one and by SmRunner where not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/memory_system.h"
#include "sim/engine/recorder.h"
#include "sim/engine/schedule.h"
#include "sim/engine/sm_runner.h"
#include "sim/engine/stretches.h"

namespace tilescope {

class Replay {
 public:
  Replay(SmRunner& runner, MemorySystem& memory, Recorder& recorder, const ScheduleBuilder& builder)
      : runner_(runner),
        memory_(memory),
        recorder_(recorder),
        builder_(builder),
        l2_latency_cycles_(runner.gpu().l2_latency_cycles) {}

  /// Where an SM is: in stretch `stretch` since `since`; -1: in none that is known. While `is_behind`, only the next_* counters of
  /// its groups are current; catch_up() brings the other state up to date.
  struct InStretch {
    std::int32_t stretch = -1;
    double since = 0;
    bool is_behind = false;
  };
  InStretch& in_stretch(std::size_t sm) { return in_stretch_[sm]; }
  StretchTable& stretches() { return stretches_; }

  /// Forgets where SMs are; the first event calls for begin_binade().
  void begin_launch();
  /// Returns the time from which on doubles have another resolution, so that no stretch may be replayed: begin_binade() is due
  /// then.
  double binade_end() const { return binade_end_; }
  /// Forgets all stretches. No SM may be in a period.
  void begin_binade(double time);

  /// Processes the load of SM `number` at `time` and replays the successor of its stretch; `next` is then the time of its next
  /// event. Returns false, with the load still to be done, if there is no successor that fits.
  bool replay(std::size_t number, double time, double& next);
  /// Runs SM `number` from a load at `time`, which is done, to its next event; returns the time of that event.
  double go_on(std::size_t number, double time);
  /// Runs an SM from an event that is no load to its next event; returns the time of that event.
  double run_ahead(std::size_t sm) {
    in_stretch_[sm].stretch = -1;
    return runner_.run_ahead(runner_.sms()[sm]);
  }
  /// Lands the load of SM `number` at `time` and goes on with stretch `successor`; returns the time of the next event.
  double land_in_stretch(std::size_t number, ResidentGroup& group, std::int32_t successor, double time, double landed);
  /// Records the operations of a stretch that begins at `time`.
  void record_stretch(const Stretch& stretch, double time);
  /// Moves the counters of an SM's groups to the end of a stretch, `times` times.
  static void advance(RunningSm& sm, const Stretch& stretch, std::uint32_t times = 1) {
    for (std::size_t i = 0; i < sm.groups.size(); ++i) {
      sm.groups[i].next_compute += times * stretch.operations_of[i];
      sm.groups[i].next_signal += times * stretch.signals_of[i];
    }
  }
  /// Counts loads that somebody else replayed.
  void count_replayed(int loads) {
    replayed_ += loads;
    found_ += loads;
  }
  std::int64_t replayed_loads() const { return replayed_; }

 private:
  static constexpr double never = ResidentGroup::never;

  bool may_replay(const RunningSm& sm) const;
  /// Returns whether a stretch that begins at `time` stays within the binade and all its data arrive before their deadlines.
  bool is_in_time(const RunningSm& sm, const Stretch& stretch, double time) const {
    bool is = time + stretch.latest < binade_end_;
    for (std::size_t i = 0; i < stretch.deadline_count; ++i) {
      const StretchDeadline& deadline = stretch.deadlines[i];
      const ResidentGroup& group = sm.groups[deadline.slot];
      is = is && group.times[OperationStream::landing(group.next_load) + deadline.moment] <= time + deadline.time;
    }
    return is;
  }
  /// Replays stretch `number` from a load at `time`, which is done; returns the time of the next event.
  double accept(std::size_t sm, std::int32_t number, double time);
  /// Brings SM `number`, if it is behind, to the end of its stretch.
  void catch_up(std::size_t number);

  SmRunner& runner_;
  MemorySystem& memory_;
  Recorder& recorder_;
  const ScheduleBuilder& builder_;
  const double l2_latency_cycles_;
  std::vector<InStretch> in_stretch_;  // by SM
  StretchTable stretches_;
  StretchKey key_;
  double binade_end_ = 0;
  std::int64_t replayed_ = 0;
  // Loads that looked for a stretch, those that found one, and loads left that do not look.
  int looked_for_ = 0, found_ = 0, resting_ = 0;
};

}  // namespace tilescope
