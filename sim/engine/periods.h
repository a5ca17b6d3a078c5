// Periods: processes the loads of SMs that pass through a circle of stretches again and again. The times of these loads are known
// in advance, so they need no search for the next event (see stretches.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/issue_order.h"
#include "sim/engine/memory_system.h"
#include "sim/engine/recorder.h"
#include "sim/engine/replay.h"
#include "sim/engine/sm_runner.h"
#include "sim/engine/upcoming_loads.h"

namespace tilescope {

class Periods {
 public:
  /// `order`: of the events of all other SMs.
  Periods(SmRunner& runner, Replay& replay, SmOrder& order, MemorySystem& memory, Recorder& recorder,
          const ScheduleBuilder& builder)
      : runner_(runner),
        replay_(replay),
        order_(order),
        memory_(memory),
        recorder_(recorder),
        builder_(builder),
        l2_latency_cycles_(runner.gpu().l2_latency_cycles) {}

  /// Takes all SMs out of their periods.
  void begin_launch();
  /// Return whether a load of an SM in a period comes before all other events, and when the next one comes.
  bool comes_next() const {
    const UpcomingLoad& next = upcoming_.next();
    return next.time < order_.time() || (next.time == order_.time() && next.sm < order_.sm());
  }
  double next_time() const { return upcoming_.next().time; }
  /// Processes loads, at most `most`, while they come next. Returns how many.
  int process(int most);
  /// Lets SMs enter periods, if it is time for that before the next event, at `next_event`.
  void plan(double next_event) {
    if (next_event >= plan_at_) let_enter(next_event);
  }
  /// Brings all SMs from their periods to where they are, and waits longer than last time before any enters again.
  void leave_all(double time);

  /// Counts the loads of SMs in a period.
  std::int64_t loads() const { return loads_; }

 private:
  static constexpr double never = ResidentGroup::never;
  /// The period that an SM is in since load `first_step` of it; -1: none. Meanwhile only the next_load counters of its groups are
  /// current, whose sum was `first_load` then.
  struct InPeriod {
    std::int32_t period = -1;
    std::uint32_t first_step = 0;
    std::int64_t first_load = 0;
  };

  class GroupCounters;

  void let_enter(double now);
  /// Moves the groups of an SM past a step that begins at `time`. Returns false if the SM is not where its stretch begins, or if
  /// bytes that it asked for before `entry` come too late for it.
  bool passes(RunningSm& sm, const Period::Step& step, const GroupCounters& entry, double time);
  /// Lists the loads of SM `number` in `entering_` if it is in a period that is about as long as `cycles`; 0: any.
  bool enter(std::size_t number, double cycles);
  /// Fills in what depends on the class of a step's load.
  void complete_step(Period::Step& step, std::uint32_t op_class);
  /// Brings SM `number` from its period to the end of the stretch that it is in.
  void leave(std::size_t number);

  SmRunner& runner_;
  Replay& replay_;
  SmOrder& order_;
  MemorySystem& memory_;
  Recorder& recorder_;
  const ScheduleBuilder& builder_;
  const double l2_latency_cycles_;
  std::vector<InPeriod> in_period_;  // by SM
  UpcomingLoads upcoming_;
  std::vector<UpcomingLoad> entering_;
  double plan_at_ = 0, plan_wait_ = 0;  // when to let SMs enter again, and how long to wait if few do
  std::int64_t loads_ = 0;
};

}  // namespace tilescope
