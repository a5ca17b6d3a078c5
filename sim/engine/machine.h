// Machine: all SMs running all blocks of all launches of a program, in order of time.
//
//   an SM       resident blocks, each with two streams:  loads  ─► in order, each once its buffer is free
//                                                         compute and stores ─► in order, each once its load has landed
//               servers (tensor, exp, fp32, shared-memory port) that the blocks share, the oldest block first; of tensor and
//               exp it has half as soon as it wants it. Schedulers, whose turns each operation takes from the others
//   the rest    MemorySystem, shared by all SMs
//
// Between two events that others can notice (a load, a store, a block's end) an SM runs ahead on its own; those events are
// processed in order of time over all SMs, ties by SM. So the L2 sees accesses in the order in which they happen.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/engine/memory_system.h"
#include "sim/engine/recorder.h"
#include "sim/engine/schedule.h"
#include "sim/engine/simulation.h"
#include "sim/engine/stretches.h"
#include "sim/engine/turn_order.h"

namespace tilescope {

/// The pipe of an SM through which shared memory is read and written, copies land there and stores leave, instruction by
/// instruction. Operations have it one after the other, and so have copies; of the two kinds each has every other turn.
struct MemoryPipe {
  double free = 0;         // of all that was asked for
  double copies_free = 0;  // of copies

  /// Asks for `cycles` of it from `start` on, where its own kind has it until `own_free`. Returns when it has had them.
  double serve(double& own_free, double start, double cycles) {
    if (cycles <= 0) return start;
    free = std::max(free, start) + cycles;
    const double in_turns = 2 * (std::max(0.0, own_free - start) + cycles);
    return own_free = std::min(free, start + in_turns);
  }
};

class Machine {
 public:
  Machine(const TileProgram& program, const SimulationRequest& request, MemorySystem& memory, Recorder& recorder,
          ScheduleBuilder& builder);

  /// Runs one launch, from `start`; returns when its last block ended.
  /// Errors  cancelled
  Result<double> run_launch(int launch, int blocks_per_sm, double start, const Progress& progress, double done_before,
                            double share);

  // The same, event by event, for machines that share something: the one whose event is next goes on.
  /// Begins a launch with the blocks [first, first + count) of it.
  void begin_launch(int launch, int blocks_per_sm, double start, std::int64_t first, std::int64_t count);
  /// When the next event is; infinite where none is left.
  double next_event() const { return order_.time(); }
  void go_on_with_event();
  /// When the last block ended.
  /// Errors  blocks that wait for ever
  Result<double> end_launch() const;
  /// Whose SMs these are: blocks are recorded as that device's.
  void set_device(DeviceId device) { device_ = device; }

  /// Loads after which an SM went on by a stretch that it had gone through before.
  std::int64_t replayed_loads() const { return replayed_; }

 private:
  static constexpr double never = TurnOrder::never;
  enum class Next : std::uint8_t { nothing, compute, load, store, finish };
  struct alignas(64) Resident {
    // The first two cache lines are all that the event loop touches.
    const ScheduledOp* ops = nullptr;
    const ScheduledAccess* loads = nullptr;
    double* times = nullptr;  // of each moment of the stream; never where it has not come
    std::uint32_t op_count = 0, load_count = 0;
    std::uint32_t next_compute = 0, next_load = 0, next_store = 0;
    double* next_signal = nullptr;  // of times
    double compute_end = 0;         // of the latest compute operation
    double issued = 0;              // of the latest load
    double drained = 0;             // of all loads and stores so far
    double issue_rate = 0;          // of a scheduler's turns, the part that its latest operation takes
    double ahead_end = 0;           // of what is interleaved with the next product, 0 where nothing is
    BlockOrigin origin;
    std::uint32_t slot = 0;
    Next next = Next::nothing;  // what happens next
    bool focused = false;
    std::uint8_t ahead = 0;  // 1 while something is interleaved with the next product
    WaitCause start_cause = WaitCause::launch;
    std::int32_t run = -1;
    const TokenUse *tokens_of_compute = nullptr, *tokens_of_loads = nullptr;  // null where the block has no tokens
    const OperationStream* stream = nullptr;                                  // of the block's schedule, which is `own` or `shared`
    const OperationStream::Position *positions = nullptr, *load_positions = nullptr;  // of the stream
    Resident* block = nullptr;  // the first group of the block, which has what all of them share
    // Of the block: groups that are not over yet, the tokens' names, and of each token when it was signalled, by how often.
    std::size_t groups_left = 0;
    const BlockSchedule* schedule = nullptr;
    std::vector<std::vector<double>> signalled;
    double start = 0;  // when it was given the slot
    BlockSchedule own;
    std::shared_ptr<const BlockSchedule> shared;
    std::vector<double> moments;
    std::vector<WaitCause> landed_by;  // while focused
    BlockOperations operations;        // while focused
  };
  struct Sm {
    std::array<double, no_pipe + 1> free{};  // when the port and each pipe is free for an operation, by number
    MemoryPipe memory_pipe;
    TurnOrder turns;
    std::vector<Resident> slots;
    // The stretch that it is in, which began at `since`; -1 where that is not known. While `is_behind` all else that the stretch
    // changes is as before it, but for the numbers of operations, loads and signals.
    std::int32_t stretch = -1;
    double since = 0;
    bool is_behind = false;
  };
  void start_block(int sm, Resident& block, double time, WaitCause cause);
  void start_group(int sm, Resident& group, std::size_t number, double time, WaitCause cause);
  /// Finds or makes the schedule of a block; writes its operations out only where there is need.
  void schedule_block(Resident& block, std::int64_t number);
  /// When a token was signalled as often as an operation waits for; never where it was not yet.
  static double token_time(const Resident& group, const TokenUse& use) {
    if (use.wait < 0 || use.count <= 0) return 0;
    const std::vector<double>& times = group.block->signalled[static_cast<std::size_t>(use.wait)];
    return times.size() < static_cast<std::size_t>(use.count) ? never : times[static_cast<std::size_t>(use.count) - 1];
  }
  /// When the block's next load is due.
  static double load_time(const Resident& block) {
    if (block.next_load == block.load_count) return never;
    const double time = std::max(block.issued, block.times[block.loads[block.next_load].after]);
    return block.tokens_of_loads == nullptr ? time : std::max(time, token_time(block, block.tokens_of_loads[block.next_load]));
  }
  /// When its data and the operation before allow a compute operation or a store of the block; never where its load was not issued.
  static double ready_time(const Resident& block, ScheduledOp op) {
    const double ready = std::max(block.compute_end, block.times[op.wait]);
    return block.tokens_of_compute == nullptr ? ready
                                              : std::max(ready, token_time(block, block.tokens_of_compute[block.next_compute]));
  }
  /// Signals the token of an operation that is over at `time`, and looks again at the other groups of the block. Returns whether
  /// there was one.
  bool signal(Sm& sm, const Resident& group, const TokenUse& use, double time);
  /// Why the launch cannot go on: a group and the token that it waits for.
  Error deadlock() const;
  /// The pipe that an operation of the block has to wait for: any block, and the oldest one.
  std::array<std::uint8_t, 2> pipes_for(const Resident& block, const OpTiming& timing) const {
    const std::uint8_t pipe = timing.pipe[block.ahead];
    return {pipe, pipe_of_oldest_[pipe]};
  }
  void refresh(Sm& sm, Resident& block);
  /// Runs an SM until its next event is one that others can notice, and returns when that is.
  double run_ahead(int sm);
  /// Runs compute operations of a block for as long as it is the first of its SM to do something.
  /// `plain` where the SM has two blocks, of one group each, and this one is out of focus.
  template <bool plain>
  void compute(int sm, Resident& block, double start, TurnKey rival);
  void load(int sm, Resident& block, double time);
  /// What a load brings about on its SM.
  void land(int sm, Resident& block, double time, std::uint32_t at, Transfer transfer);
  void store(int sm, Resident& block, double time);
  void finish(int sm, Resident& block, double time);
  /// The part of the schedulers' turns that the other blocks of an SM take at `start`.
  static double taken_by_others(const Sm& sm, const Resident& block, double start) {
    if (sm.slots.size() == 2) {  // most kernels on most GPUs
      const Resident& other = (&sm.slots.front())[1 - block.slot];
      return other.compute_end > start ? other.issue_rate : 0;
    }
    double taken = 0;
    for (const Resident& other : sm.slots)
      if (&other != &block && other.compute_end > start) taken += other.issue_rate;
    return taken;
  }
  /// By how much an operation that starts at `start` takes longer because warps of other blocks take turns of the schedulers.
  double crowded(const Sm& sm, const Resident& block, const OpTiming& timing, double start) const {
    if (!are_crowded_ || timing.issued <= 0) return 0;
    // A scheduler has one turn a cycle.
    return std::max(0.0, timing.issued * std::min(taken_by_others(sm, block, start), 1.0) - timing.spare);
  }
  /// Notes how many turns of the schedulers the latest operation of a block takes, over its `duration`.
  void note_issue_rate(Resident& block, float issued, double duration) const {
    if (are_crowded_ && issued > 0)
      block.issue_rate = issued * warps_a_scheduler_[static_cast<std::size_t>(&block - block.block)] / duration;
  }
  void record(int sm, const Resident& block, const Interval& interval, std::int32_t op);
  void record_compute(int sm, const Resident& block, double start, double end);
  /// Takes the pipes of an SM for the work of what starts at `start`.
  static void take_pipes(Sm& sm, const OpTiming& timing, double start) {
    for (std::size_t i = 0; i < timing.work.size(); ++i) sm.free[1 + i] = std::max(sm.free[1 + i], start) + timing.work[i];
  }
  /// Takes them and the memory pipe for an operation that starts at `start`, and returns when it has had the latter.
  static double take_all(Sm& sm, const OpTiming& timing, double start) {
    take_pipes(sm, timing, start);
    return sm.memory_pipe.serve(sm.free[smem_port], start, timing.smem_cycles);
  }
  // Of stretches (replay.cpp).
  /// Where a block is, with `next_load` the load that comes next.
  static StretchPosition position_of(const Resident& block, std::uint32_t next_load) {
    const OperationStream::Position &op = block.positions[block.next_compute], &load = block.load_positions[next_load];
    const auto landed = static_cast<std::uint32_t>(static_cast<std::int32_t>(next_load) - op.waited_for),
               given = static_cast<std::uint32_t>(block.next_signal - block.times) - static_cast<std::uint32_t>(load.waited_for);
    return {std::uint64_t{op.number} << 32 | load.number, std::uint64_t{landed} << 32 | given};
  }
  /// How an SM stands, counted from `time`. False where that cannot be told.
  static bool key_of(const Sm& sm, double time, StretchKey& key);
  bool may_replay(const Sm& sm) const;
  /// Whether a stretch that begins at `time` ends within the binade and has its data when it looks for them.
  bool is_in_time(const Sm& sm, const Stretch& stretch, double time) const {
    bool is = time + stretch.latest < binade_end_;
    for (std::size_t i = 0; i < stretch.deadline_count; ++i) {
      const StretchDeadline& deadline = stretch.deadlines[i];
      const Resident& block = sm.slots[deadline.slot];
      is = is && block.times[OperationStream::landing(block.next_load) + deadline.moment] <= time + deadline.time;
    }
    return is;
  }
  void note_wait(std::uint32_t slot, const Resident& block, ScheduledOp op);
  void note_operation(const Resident& block, ScheduledOp op, double from, double to);
  /// Keeps what was recorded from `time` to the `next` load. Returns its number; -1 where it depends on when data landed.
  std::int32_t keep_stretch(const Sm& sm, double time, double next, const Resident& next_block);
  /// From a load at `time` to the next event that others can notice. Returns when that is.
  double go_on(int sm, double time);
  /// The same, by stretch `number`.
  double accept(Sm& sm, std::int32_t number, double time);
  /// Does the load at `time` and what follows by the successor of the SM's stretch. False where that cannot be: nothing is done.
  bool replay(int sm, double time, double& next);
  /// Brings an SM that is behind to the end of its stretch.
  void catch_up(int sm);
  /// Forgets all stretches: times from `time` on have another unit.
  void begin_binade(double time);
  double part_done() const;  // of the launch that is running, 0..1

  const TileProgram& program_;
  const GpuSpec& gpu_;
  const BlockOrder block_order_;
  const double give_up_after_;  // cycles; infinite: never
  MemorySystem& memory_;
  Recorder& recorder_;
  ScheduleBuilder& builder_;
  std::vector<Sm> sms_;
  std::array<std::uint8_t, no_pipe + 1> pipe_of_oldest_{};
  SmOrder order_;
  std::vector<Resident*> next_of_sm_;  // whose turn it is on each SM
  // The launch that is running.
  int launch_ = 0;
  BlockSequence sequence_{BlockOrder::launch, 1, 1, 1};
  DeviceId device_;
  std::int64_t first_block_ = 0, blocks_ = 0, next_block_ = 0, finished_ = 0;
  std::vector<double> warps_a_scheduler_;  // of each group of a block
  bool are_crowded_ = false;               // more than one on an SM
  double launch_end_ = 0;
  double next_start_ = 0;  // of the next block, at the earliest
  BlockOperations scratch_;
  StretchPositions positions_;
  StretchTable stretches_;
  double binade_end_ = 0;
  Stretch recorded_;
  double recorded_from_ = 0;
  std::array<const double*, most_stretch_slots> signals_at_start_{};
  std::int64_t replayed_ = 0;
  bool is_recording_ = false, is_kept_ = false;
  int looked_for_ = 0, found_ = 0, resting_ = 0;  // loads that looked for a stretch, and found it; loads that do not look
  // Schedules by shape, of this launch.
  std::unordered_map<std::int64_t, std::shared_ptr<const BlockSchedule>> shapes_;
  std::size_t shapes_size_ = 0;
};

}  // namespace tilescope
