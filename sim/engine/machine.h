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

 private:
  static constexpr double never = TurnOrder::never;
  enum class Next : std::uint8_t { nothing, compute, load, store, finish };
  struct alignas(64) Resident {
    // The first two cache lines are all that the event loop touches.
    const ScheduledOp* ops = nullptr;
    const ScheduledAccess* loads = nullptr;
    double* landed = nullptr;   // of each load issued; at -1 no time at all, for an operation that waits for none
    double* signals = nullptr;  // of each signal given
    std::uint32_t op_count = 0, load_count = 0;
    std::uint32_t next_compute = 0, next_load = 0, next_store = 0, next_signal = 0;
    double compute_end = 0;  // of the latest compute operation
    double issued = 0;       // of the latest load
    double drained = 0;      // of all loads and stores so far
    double issue_rate = 0;   // of a scheduler's turns, the part that its latest operation takes
    double ahead_end = 0;    // of what is interleaved with the next product, 0 where nothing is
    BlockOrigin origin;
    std::uint32_t slot = 0;
    Next next = Next::nothing;  // what happens next
    bool focused = false;
    std::uint8_t ahead = 0;  // 1 while something is interleaved with the next product
    WaitCause start_cause = WaitCause::launch;
    std::int32_t run = -1;
    const OperationStream* stream = nullptr;  // of the block's schedule, which is `own` or `shared`
    Resident* block = nullptr;                // the first group of the block, which has what all of them share
    // Of the block: groups that are not over yet, the tokens' names, and of each token when it was signalled, by how often.
    std::size_t groups_left = 0;
    const BlockSchedule* schedule = nullptr;
    std::vector<std::vector<double>> signalled;
    double start = 0;  // when it was given the slot
    BlockSchedule own;
    std::shared_ptr<const BlockSchedule> shared;
    std::vector<double> landed_store, signals_store;
    std::vector<WaitCause> landed_by;  // while focused
    BlockOperations operations;        // while focused
  };
  struct Sm {
    std::array<double, no_pipe + 1> free{};  // when the port and each pipe is free for an operation, by number
    MemoryPipe memory_pipe;
    TurnOrder turns;
    std::vector<Resident> slots;
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
    if (!block.stream->tokens_of_loads.empty())
      return std::max(untokened_load_time(block), token_time(block, block.stream->tokens_of_loads[block.next_load]));
    return untokened_load_time(block);
  }
  static double untokened_load_time(const Resident& block) {
    const std::int32_t after = block.loads[block.next_load].after;
    if (after == -1) return block.issued;
    if (after < -1) return std::max(block.issued, block.landed[-2 - after]);
    if (static_cast<std::uint32_t>(after) >= block.next_signal) return never;
    return std::max(block.issued, block.signals[after]);
  }
  /// When its data and the operation before allow a compute operation or a store of the block, whose load has been issued.
  static double ready_time(const Resident& block, ScheduledOp op) {
    const double ready = std::max(block.compute_end, block.landed[op.wait]);
    return block.stream->tokens_of_compute.empty()
               ? ready
               : std::max(ready, token_time(block, block.stream->tokens_of_compute[block.next_compute]));
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
  void compute(int sm, Resident& block, double start, TurnKey rival);
  void load(int sm, Resident& block, double time);
  void store(int sm, Resident& block, double time);
  void finish(int sm, Resident& block, double time);
  /// By how much an operation that starts at `start` takes longer because warps of other blocks take turns of the schedulers.
  /// Notes how many it takes itself.
  double crowded(const Sm& sm, Resident& block, const OpTiming& timing, double start) const;
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
  void build_order();
  /// Puts the next event of SM `sm`, whose turn it was, in its place.
  void reorder(std::size_t sm, double time);
  double part_done() const;  // of the launch that is running, 0..1

  const TileProgram& program_;
  const GpuSpec& gpu_;
  const BlockOrder block_order_;
  MemorySystem& memory_;
  Recorder& recorder_;
  ScheduleBuilder& builder_;
  std::vector<Sm> sms_;
  std::array<std::uint8_t, no_pipe + 1> pipe_of_oldest_{};
  // A tournament over SMs by their next event, ties to the lower SM: at 0 the winner, at n the one that lost at node n.
  std::vector<TurnKey> losers_;
  std::vector<Resident*> next_of_sm_;  // whose turn it is on each SM
  // The launch that is running.
  int launch_ = 0;
  BlockSequence sequence_{BlockOrder::launch, 1, 1, 1};
  std::int64_t blocks_ = 0, next_block_ = 0, finished_ = 0;
  std::vector<double> warps_a_scheduler_;  // of each group of a block
  double launch_end_ = 0;
  double next_start_ = 0;  // of the next block, at the earliest
  BlockOperations scratch_;
  // Schedules by shape, of this launch.
  std::unordered_map<std::int64_t, std::shared_ptr<const BlockSchedule>> shapes_;
  std::size_t shapes_size_ = 0;
};

}  // namespace tilescope
