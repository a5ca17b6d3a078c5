// Machine: the event loop. It runs all blocks of a program's launches on all SMs, in order of time.
//
//   Machine ──► Periods ──► Replay ──► SmRunner           loads known in advance │ stretches done before │ one operation after
//   another
//
// An SM runs ahead on its own between events that other SMs can notice: a load, a store, the end of a block. These events are
// processed in order of time over all SMs, ties by SM number. So the L2 sees accesses in the order in which they happen.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/engine/issue_order.h"
#include "sim/engine/memory_system.h"
#include "sim/engine/periods.h"
#include "sim/engine/recorder.h"
#include "sim/engine/replay.h"
#include "sim/engine/schedule.h"
#include "sim/engine/simulation.h"
#include "sim/engine/sm_runner.h"

namespace tilescope {

class Machine {
 public:
  Machine(const TileProgram& program, const SimulationRequest& request, MemorySystem& memory, Recorder& recorder,
          ScheduleBuilder& builder);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Runs one launch from cycle `start`; returns the cycle at which its last block ended. `progress` hears `done_before` plus a
  /// part of `share`. Errors  cancelled, or past SimulationRequest::give_up_after_cycles; blocks that wait forever
  Result<double> run_launch(int launch, int blocks_per_sm, double start, const Progress& progress, double done_before,
                            double share);

  // run_launch() event by event, for machines that share memory: the machine with the earliest next event processes it.
  /// Begins a launch with its blocks [first, first + count).
  void begin_launch(int launch, int blocks_per_sm, double start, std::int64_t first, std::int64_t count);
  /// Returns the time of the next event; infinite if none is left.
  double next_event() const { return std::min(periods_.next_time(), order_.time()); }
  /// Processes the next event, or the next few of at most `most`. Returns how many.
  int process_events(int most = 1);
  /// Returns when the last block ended.
  /// Errors  blocks that wait forever
  Result<double> end_launch() const;
  /// Return, of the present launch, the SMs that got a block, and the cycles that SMs had a block, summed over SMs.
  int sms_with_blocks() const;
  double sm_cycles() const;
  /// Records the blocks as those of `device`.
  void set_device(DeviceId device) { runner_.set_device(device); }

  /// Counts the loads after which an SM replayed a recorded stretch.
  std::int64_t replayed_loads() const { return replay_.replayed_loads(); }
  /// Counts those of SMs in a period.
  std::int64_t loads_in_periods() const { return periods_.loads(); }

 private:
  /// Processes the next event of an SM that is not in a period.
  void process_event_of_sm();

  const TileProgram& program_;
  const double give_up_after_;  // cycles; infinite: never
  SmRunner runner_;
  Replay replay_;
  SmOrder order_;  // of the events of SMs that are not in a period
  Periods periods_;
};

}  // namespace tilescope
