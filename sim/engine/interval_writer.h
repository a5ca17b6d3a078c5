// IntervalWriter: writes what the trace shows of a block in focus: when an operation ran, and why it did not start earlier.
#pragma once

#include <cstdint>

#include "sim/engine/memory_system.h"
#include "sim/engine/recorder.h"
#include "sim/engine/running_sm.h"
#include "sim/engine/schedule.h"

namespace tilescope {

class IntervalWriter {
 public:
  IntervalWriter(const ScheduleBuilder& builder, Recorder& recorder) : builder_(builder), recorder_(recorder) {}

  /// Writes load `at` of a group, which could start at `ready`, started at `time` and lands with `transfer`. Notes what limited it,
  /// for what waits for it.
  void load(const RunningSm& sm, ResidentGroup& group, std::uint32_t at, double ready, double time, const Transfer& transfer);
  /// Writes the group's next operation, before it takes its pipes. `streams`: cycles in which the bytes of a store cross a link.
  void compute(const RunningSm& sm, const ResidentGroup& group, double start, double end, double streams = 0);
  /// Writes an asynchronous product that the tensor cores have done.
  void product(const RunningSm& sm, const ResidentGroup& group, const QueuedProduct& product);

 private:
  /// Completes an interval with what operation `op` of the block says, and writes it.
  void write(const RunningSm& sm, const ResidentGroup& group, const Interval& interval, std::int32_t op);

  const ScheduleBuilder& builder_;
  Recorder& recorder_;
};

}  // namespace tilescope
