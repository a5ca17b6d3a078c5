// SmRunner: works out what the SMs of a launch do, one operation after another.
//
//   an SM      resident blocks, each with two in-order streams:  loads: each waits until its buffer is free
//                                                                compute and stores: each waits until its load has landed
//              pipes (tensor, exp, fp32, shared-memory port) that the blocks share; the oldest block goes first. On the tensor
//              and exp pipes it never waits for a younger block: the two share the pipe while both use it
//              schedulers: operations of different blocks slow one another down by the issue slots that they take
//   the rest   MemorySystem, shared by all SMs
//
// An SM runs ahead on its own up to its next event that other SMs can notice: a load, a store, the end of a block.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/block_queue.h"
#include "sim/engine/interval_writer.h"
#include "sim/engine/memory_system.h"
#include "sim/engine/recorder.h"
#include "sim/engine/running_sm.h"
#include "sim/engine/schedule.h"
#include "sim/engine/schedule_cache.h"
#include "sim/engine/simulation.h"
#include "sim/engine/stretch_recording.h"

namespace tilescope {

class SmRunner {
 public:
  SmRunner(const TileProgram& program, const SimulationRequest& request, MemorySystem& memory, Recorder& recorder,
           ScheduleBuilder& builder);

  /// Begins a launch with its blocks [first, first + count), and starts the first wave.
  void begin_launch(int launch, int blocks_per_sm, double start, std::int64_t first, std::int64_t count);
  /// Records the blocks as those of `device`.
  void set_device(DeviceId device) { device_ = device; }

  const GpuSpec& gpu() const { return gpu_; }
  std::vector<RunningSm>& sms() { return sms_; }
  const std::vector<RunningSm>& sms() const { return sms_; }
  ScheduleCache& schedules() { return schedules_; }
  StretchRecording& recording() { return recording_; }

  /// Runs an SM up to its next event that other SMs can notice; returns the time of that event.
  double run_ahead(RunningSm& sm);
  /// Processes the event of an SM at `time`. Returns whether it was a load.
  bool process_event(RunningSm& sm, double time);
  /// Works out what a group does next.
  void refresh(RunningSm& sm, ResidentGroup& group);
  /// Applies a load that lands with `transfer` to its SM.
  void land(RunningSm& sm, ResidentGroup& group, double time, std::uint32_t at, Transfer transfer);
  /// Notes when whoever waits for a load may go on: of a copy, when all copies up to it have landed, as after cp.async.wait_group.
  /// A load into registers waits for earlier copies only on a GPU for teaching (docs/model-limits.md, row 43).
  void note_landing(ResidentGroup& group, std::uint32_t at, const OpTiming& timing, double landed) const {
    if (timing.copy || !builder_.costs().models_instruction_latency()) landed = std::max(group.copied, landed);
    if (timing.copy) group.copied = landed;
    group.times[OperationStream::landing(at)] = landed;
  }

  bool has_ended() const { return finished_ == queue_.count(); }
  double part_done() const;  // of the launch, 0..1
  /// Returns when the last block so far ended.
  double latest_end() const { return latest_end_; }
  /// Returns an error that names a stuck group and the token that it waits for.
  Error deadlock() const;

 private:
  static constexpr double never = ResidentGroup::never;
  using Next = ResidentGroup::Next;

  /// Empties an SM and gives it room for `places` blocks.
  void reset(RunningSm& sm, std::size_t places, bool persistent) const;
  /// Starts a block in `place` of each SM, round robin; of fewer SMs if fewer blocks are left. Later blocks go to the first free
  /// slot.
  void start_round(std::size_t place, double start);
  void start_block(RunningSm& sm, ResidentBlock& block, double time, WaitCause cause);
  /// `cause` says what the start waited for; none: the group goes on from an earlier block, without a start of its own.
  void start_group(RunningSm& sm, ResidentGroup& group, double time, WaitCause cause);
  /// Takes the block that comes `position`-th in the launch to the place `block`.
  void take_block(RunningSm& sm, ResidentBlock& block, double time, std::int64_t position);
  /// Lets a group of a persistent kernel go on with the next block.
  void go_on_with_next(RunningSm& sm, ResidentBlock& block, std::size_t group, double time);
  /// Signals the token of an operation that ended at `time` and refreshes the other groups of the block. Returns whether the
  /// operation has a token to signal.
  bool signal(RunningSm& sm, const ResidentGroup& group, const TokenUse& use, double time);
  /// Returns the pipe that an operation of the block waits for: first if the block is any but the oldest, then if it is the oldest.
  std::array<std::uint8_t, 2> pipes_for(const ResidentGroup& group, const OpTiming& timing) const {
    const std::uint8_t pipe = timing.pipe[group.sliced];
    return {pipe, pipe_of_oldest_[pipe]};
  }
  /// Runs compute operations of a block while they start before those of every other block of the SM.
  /// `plain` is the fast path: two blocks on the SM, one group each, no tokens, and this block is out of focus.
  template <bool plain>
  void compute(RunningSm& sm, ResidentGroup& group, double start, IssueKey rival);
  /// Runs the operation `at`, which starts at `start` and takes `duration` cycles if its pipe, which is free from `pipe_free` on,
  /// lets it; returns when the next one of its group may start.
  template <bool plain>
  double run_operation(RunningSm& sm, ResidentGroup& group, const ScheduledOp* at, const OpTiming& timing, double start,
                       double duration, double pipe_free);
  /// Lets a group begin to issue the asynchronous product `at`, which takes at least `duration` cycles.
  void issue_product(RunningSm& sm, ResidentGroup& group, const ScheduledOp* at, const OpTiming& timing, double start,
                     double duration);
  void load(RunningSm& sm, ResidentGroup& group, double time);
  /// Lands the waiting copy that comes first.
  void land_waiting(RunningSm& sm);
  void store(RunningSm& sm, ResidentGroup& group, double time);
  void finish(RunningSm& sm, ResidentGroup& group, double time);
  /// Lets the group that has issued its product next go on.
  void end_issue(RunningSm& sm);
  /// Returns when the warps of a block go on after its operation `at`, an addition that starts at `time`: once the SM's queue has
  /// room for the rest. Of the warps of a sub-partition the oldest issues its part first, and the block goes on with it. It was
  /// also the first to end the product before, so it adds while the others still multiply.
  double add_until(RunningSm& sm, const ResidentGroup& group, std::uint32_t at, double time) const;
  /// Returns by how much an operation that starts at `start` is delayed because warps of other blocks take issue slots.
  double crowded(const RunningSm& sm, const ResidentGroup& group, const OpTiming& timing, double start) const {
    if (!are_crowded_ || timing.issued <= 0) return 0;
    // A scheduler issues one instruction a cycle, so others can take at most every slot.
    return std::max(0.0, timing.issued * std::min(sm.taken_by_others(group, start), 1.0) - timing.slack);
  }
  /// Stores the share of issue slots that the latest operation of a block takes over its `duration`.
  void note_issue_rate(ResidentGroup& group, float issued, double duration) const {
    if (are_crowded_ && issued > 0) group.issue_rate = issued * warps_a_scheduler_[group.number] / duration;
  }

  const TileProgram& program_;
  const GpuSpec& gpu_;
  const BlockOrder block_order_;
  MemorySystem& memory_;
  Recorder& recorder_;
  ScheduleBuilder& builder_;
  IntervalWriter intervals_;
  DeviceId device_;
  std::vector<RunningSm> sms_;
  std::array<std::uint8_t, no_pipe + 1> pipe_of_oldest_{};
  ScheduleCache schedules_;
  StretchRecording recording_;
  // The running launch.
  int launch_ = 0;
  BlockQueue queue_;
  std::int64_t finished_ = 0;
  double latest_end_ = 0;
  std::vector<double> warps_a_scheduler_;  // of each group of a block
  double sharing_ = 1;                     // how many others share a pipe with a group of the oldest block: as old, or one younger
  bool are_crowded_ = false;               // several groups share an SM
  bool are_disturbed_ = false;             // by products; see beside_products.h
};

}  // namespace tilescope
