// Machine: the event loop. It runs all blocks of a program's launches on all SMs, in order of time.
//
//   an SM      resident blocks, each with two in-order streams:  loads: each waits until its buffer is free
//                                                                 compute and stores: each waits until its load has landed
//              pipes (tensor, exp, fp32, shared-memory port) that the blocks share; the oldest block goes first. On the tensor
//              and exp pipes it never waits for a younger block: the two share the pipe while both use it
//              schedulers: operations of different blocks slow one another down by the issue slots that they take
//   the rest   MemorySystem, shared by all SMs
//
// An SM runs ahead on its own between events that other SMs can notice: a load, a store, the end of a block. These events are
// processed in order of time over all SMs, ties by SM number. So the L2 sees accesses in the order in which they happen.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/engine/issue_order.h"
#include "sim/engine/memory_system.h"
#include "sim/engine/product_queue.h"
#include "sim/engine/recorder.h"
#include "sim/engine/schedule.h"
#include "sim/engine/simulation.h"
#include "sim/engine/stretches.h"

namespace tilescope {

/// The memory pipe of an SM: accesses to shared memory, landing copies and leaving stores go through it. Operations queue behind
/// operations, copies behind copies. While both kinds wait, each gets every other cycle.
struct MemoryPipe {
  double free = 0;         // when all requests are served
  double copies_free = 0;  // when all copies are served

  /// Queues `cycles` of work at `start`, behind its own kind, which is served at `own_free`. Returns when the work is done.
  double serve(double& own_free, double start, double cycles) {
    if (cycles <= 0) return start;
    free = std::max(free, start) + cycles;
    const double interleaved = 2 * (std::max(0.0, own_free - start) + cycles);
    return own_free = std::min(free, start + interleaved);
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

  // run_launch() event by event, for machines that share memory: the machine with the earliest next event processes it.
  /// Begins a launch with its blocks [first, first + count).
  void begin_launch(int launch, int blocks_per_sm, double start, std::int64_t first, std::int64_t count);
  /// Returns the time of the next event; infinite if none is left.
  double next_event() const { return is_upcoming_next() ? upcoming_[next_upcoming_].time : order_.time(); }
  /// Processes the next event, or the next few of at most `most`. Returns how many.
  int go_on_with_events(int most = 1);
  /// Returns when the last block ended.
  /// Errors  blocks that wait forever
  Result<double> end_launch() const;
  /// Return, of the present launch, the SMs that got a block, and the cycles that SMs had a block, summed over SMs.
  int sms_with_blocks() const;
  double sm_cycles() const;
  /// Records the blocks as those of `device`.
  void set_device(DeviceId device) { device_ = device; }

  /// Counts the loads after which an SM replayed a recorded stretch.
  std::int64_t replayed_loads() const { return replayed_; }
  /// Counts those of SMs in a period.
  std::int64_t loads_in_periods() const { return in_periods_; }

 private:
  static constexpr double never = IssueOrder::never;
  enum class Next : std::uint8_t { nothing, compute, load, store, finish };
  /// A warp group of a block that is on an SM. The first group of a block also has the state that all of its groups share.
  struct alignas(64) ResidentGroup {
    // The event loop touches only the first two cache lines.
    const ScheduledOp* ops = nullptr;
    const ScheduledAccess* loads = nullptr;
    double* times = nullptr;  // when each moment of the stream came; `never` for moments to come
    std::uint32_t op_count = 0, load_count = 0;
    std::uint32_t next_compute = 0, next_load = 0, next_store = 0;
    double* next_signal = nullptr;  // next signal to set in `times`
    double compute_end = 0;         // end of the latest compute operation
    double issued = 0;              // issue of the latest load
    double drained = 0;             // when all loads and stores so far have landed
    double copied = 0;              // when all copies so far have landed
    double issue_rate = 0;          // share of a scheduler's issue slots that the latest operation takes
    double sliced_end = 0;          // end of the operations whose slices the next product consumes; 0 if there are none
    // Of the latest operation, where products run beside it: what they cost one another in each of its cycles, and until when
    // products are counted. Products that begin while it runs are not known at its start: it ends later by `owed` than
    // `compute_end` says.
    BesideProducts beside;
    double beside_until = 0, owed = 0;
    BlockOrigin origin;
    std::uint32_t slot = 0;
    Next next = Next::nothing;
    bool focused = false;
    std::uint8_t sliced = 0, slices = 1;  // 1 while slices of an operation still run, and how many it has
    WaitCause start_cause = WaitCause::launch;
    std::int32_t run = -1;
    const TokenUse *tokens_of_compute = nullptr, *tokens_of_loads = nullptr;          // null if the block has no tokens
    const OperationStream* stream = nullptr;                                          // this group's part of the schedule
    const OperationStream::Position *positions = nullptr, *load_positions = nullptr;  // of the stream
    ResidentGroup* block = nullptr;  // the block's first group, which holds the state that all its groups share:
    std::size_t groups_left = 0;     // groups still running
    // Of a persistent kernel: the place of the block before and of the one after, which alternate, and their ordinal.
    ResidentGroup* neighbour = nullptr;
    std::int64_t ordinal = 0;
    std::uint32_t waiting = 0;  // bit per group that could go on with the next block if the neighbour's place were free
    const BlockSchedule* schedule = nullptr;     // `own` or `shared`
    std::vector<std::vector<double>> signalled;  // by token: the time of each of its signals
    double start = 0;                            // when the block got its slot
    BlockSchedule own;
    std::shared_ptr<const BlockSchedule> shared;
    std::vector<double> moments;
    std::vector<WaitCause> landed_by;  // while focused
    WaitCause copied_by = WaitCause::none;
    BlockOperations operations;  // while focused
  };
  struct Sm {
    std::array<double, no_pipe + 1> free{};  // when the port and each pipe is free, by number
    MemoryPipe memory_pipe;
    ProductQueue products;
    IssueOrder issue_order;
    std::vector<ResidentGroup> slots;
    // The stretch that the SM is in since `since`; -1 if unknown. While `is_behind`, only the next_* counters of its blocks are
    // current; catch_up() brings the other state up to date.
    std::int32_t stretch = -1;
    double since = 0;
    bool is_behind = false;
    // The period that the SM is in since load `first_step` of it; -1: none. Meanwhile only the next_load counters of its blocks
    // are current, whose sum was `first_load` then.
    std::int32_t period = -1;
    std::uint32_t first_step = 0;
    std::int64_t first_load = 0;
    // Blocks on the SM, since when it has had any, and how long it had some before.
    int blocks = 0;
    double occupied_since = 0, occupied_cycles = 0;
    double added = 0;  // when all additions of its warps have left it
  };
  /// The next occurrence of a load of an SM that is in a period.
  struct UpcomingLoad {
    double time = 0;
    const Period::Step* step = nullptr;
    ResidentGroup* block = nullptr;  // null: there is none any more
    std::uint16_t sm = 0;
    bool is_last_step = false;     // after its last occurrence the SM leaves the period
    std::uint32_t times_left = 0;  // occurrences after this one
    bool comes_before(const UpcomingLoad& other) const { return time < other.time || (time == other.time && sm < other.sm); }
  };
  /// A run [begin, end) of positions that equal those `step` entries later, which waited for moments `waited` later.
  struct Repetition {
    const OperationStream::Position* positions = nullptr;
    std::uint32_t step = 0, waited = 0, begin = 0, end = 0;
  };
  void start_block(int sm, ResidentGroup& first, double time, WaitCause cause);
  /// `cause` says what the start waited for; none: the group goes on from an earlier block, without a start of its own.
  void start_group(int sm, ResidentGroup& group, std::size_t number, double time, WaitCause cause);
  /// Finds or builds the schedule of a block. It emits the block's operations only for a new shape or a focused SM.
  void schedule_block(ResidentGroup& first, std::int64_t number);
  /// Returns when a token reached the signal count that `use` waits for; `never` if it has not yet.
  static double token_time(const ResidentGroup& group, const TokenUse& use) {
    if (use.wait < 0 || use.count <= 0) return 0;
    const std::vector<double>& times = group.block->signalled[static_cast<std::size_t>(use.wait)];
    return times.size() < static_cast<std::size_t>(use.count) ? never : times[static_cast<std::size_t>(use.count) - 1] + use.delay;
  }
  /// Returns when the block can issue its next load.
  static double load_time(const ResidentGroup& group) {
    if (group.next_load == group.load_count) return never;
    const double time = std::max(group.issued, group.times[group.loads[group.next_load].after]);
    if (group.tokens_of_loads == nullptr) return time;
    const TokenUse& use = group.tokens_of_loads[group.next_load];
    return std::max({time, token_time(group, use), carried_time(group, use)});
  }
  /// Returns when the previous block of a persistent kernel has freed the buffer of a load; `never` if it has not yet.
  static double carried_time(const ResidentGroup& group, const TokenUse& use);
  /// Takes the block that comes `position`-th in the launch to the place of `first`.
  void take_block(int sm, ResidentGroup& first, double time, std::int64_t position);
  /// Lets a group of a persistent kernel go on with the next block.
  void go_on_with_next(int sm, ResidentGroup& first, std::size_t group, double time);

  /// Returns when the data and the preceding operation of `op` are done; `never` if its load has not been issued.
  static double ready_time(const ResidentGroup& group, ScheduledOp op) {
    const double ready = std::max(group.compute_end, group.times[op.wait]);
    return group.tokens_of_compute == nullptr ? ready
                                              : std::max(ready, token_time(group, group.tokens_of_compute[group.next_compute]));
  }
  /// Signals the token of an operation that ended at `time` and refreshes the other groups of the block. Returns whether the
  /// operation has a token to signal.
  bool signal(Sm& sm, const ResidentGroup& group, const TokenUse& use, double time);
  /// Returns an error that names a stuck group and the token that it waits for.
  Error deadlock() const;
  /// Returns the pipe that an operation of the block waits for: first if the block is any but the oldest, then if it is the oldest.
  std::array<std::uint8_t, 2> pipes_for(const ResidentGroup& group, const OpTiming& timing) const {
    const std::uint8_t pipe = timing.pipe[group.sliced];
    return {pipe, pipe_of_oldest_[pipe]};
  }
  void refresh(Sm& sm, ResidentGroup& group);
  /// Runs an SM up to its next event that other SMs can notice; returns the time of that event.
  double run_ahead(int sm);
  /// Runs compute operations of a block while they start before those of every other block of the SM.
  /// `plain` is the fast path: two blocks on the SM, one group each, and this block is out of focus.
  template <bool plain>
  void compute(int sm, ResidentGroup& group, double start, IssueKey rival);
  void load(int sm, ResidentGroup& group, double time);
  /// Applies a load that lands with `transfer` to its SM.
  void land(int sm, ResidentGroup& group, double time, std::uint32_t at, Transfer transfer);
  /// Notes when whoever waits for a load may go on: of a copy, when all copies up to it have landed, as after cp.async.wait_group.
  /// A load into registers waits for earlier copies only on a GPU for teaching (docs/model-limits.md, row 43).
  void note_landing(ResidentGroup& group, std::uint32_t at, const OpTiming& timing, double landed) const {
    if (timing.copy || !builder_.models_instruction_latency()) landed = std::max(group.copied, landed);
    if (timing.copy) group.copied = landed;
    group.times[OperationStream::landing(at)] = landed;
  }
  /// Lets the group that has issued its product next go on.
  void end_issue(int sm);
  void record_product(int sm, const ResidentGroup& group, const QueuedProduct& product);
  void store(int sm, ResidentGroup& group, double time);
  /// Returns when the warps of a block go on after its operation `at`, an addition that starts at `time`: once the SM's queue has
  /// room for the rest. Of the warps of a sub-partition the oldest issues its part first, and the block goes on with it. It was
  /// also the first to end the product before, so it adds while the others still multiply.
  double add_until(Sm& sm, const ResidentGroup& group, std::uint32_t at, double time) const {
    const OpClass& c = builder_.op_class(group.ops[at].number());
    if (!c.timing.adds) return time;
    const double warps = std::max(1.0, warps_a_scheduler_[static_cast<std::size_t>(&group - group.block)]);
    const OpTiming* const before = at > 0 ? builder_.timings() + group.ops[at - 1].number() : nullptr;
    const double multiplied = before != nullptr && before->product ? before->work[static_cast<std::size_t>(Server::tensor)] : 0;
    const double begin = std::max(sm.added, time - multiplied * (1 - 1 / warps));
    sm.added = begin + c.busy_cycles;
    const double queue = gpu_.sm_reduce_queue_bytes * c.busy_cycles / static_cast<double>(c.bytes);
    return std::max(time, begin + c.busy_cycles / warps - queue);
  }
  void finish(int sm, ResidentGroup& group, double time);
  /// Returns the share of the issue slots that the other blocks of an SM take at `start`.
  static double taken_by_others(const Sm& sm, const ResidentGroup& group, double start) {
    if (sm.slots.size() == 2) {  // most kernels on most GPUs
      const ResidentGroup& other = (&sm.slots.front())[1 - group.slot];
      return other.compute_end > start ? other.issue_rate : 0;
    }
    double taken = 0;
    for (const ResidentGroup& other : sm.slots)
      if (&other != &group && other.compute_end > start) taken += other.issue_rate;
    return taken;
  }
  /// Returns by how much an operation that starts at `start` is delayed because warps of other blocks take issue slots.
  double crowded(const Sm& sm, const ResidentGroup& group, const OpTiming& timing, double start) const {
    if (!are_crowded_ || timing.issued <= 0) return 0;
    // A scheduler issues one instruction a cycle, so others can take at most every slot.
    return std::max(0.0, timing.issued * std::min(taken_by_others(sm, group, start), 1.0) - timing.spare);
  }
  /// Returns by how much products delay an operation that starts at `start`, and lets products wait for what it takes from them: of
  /// those that are known at its start, and of those that came while the operation before it ran. The register file is what they
  /// share (docs/model.md).
  double wait_beside_products(Sm& sm, ResidentGroup& group, std::uint32_t op_class, double start, double duration) const {
    const double owed = std::max(0.0, group.compute_end + std::exchange(group.owed, 0.0) - start);
    const BesideProducts& beside = builder_.op_class(op_class).beside;
    const double whole = duration + beside.waits, until = std::max(sm.products.all_done(), sm.free[pipe_of(Server::tensor)]);
    const float rate = whole > 0 ? static_cast<float>(1 / whole) : 0;
    group.beside = {beside.waits * rate, beside.takes * rate};
    group.beside_until = std::max(start, until);
    return owed + share_with_products(sm, group.beside, start, std::min(until - start, whole));
  }
  /// Returns how much longer an operation takes beside `cycles` of products, and charges the products for it.
  double share_with_products(Sm& sm, const BesideProducts& beside, double start, double cycles) const {
    if (cycles <= 0 || beside.waits + beside.takes <= 0) return 0;
    const double waits = cycles * beside.waits, takes = cycles * beside.takes;
    if (sm.products.busy_until() > start)
      sm.products.delay(takes);
    else
      sm.free[pipe_of(Server::tensor)] += takes;
    // While an instruction waits for the register file, no exponential issues on that scheduler either.
    double& exp = sm.free[pipe_of(Server::exp)];
    exp = std::max(exp, start) + waits;
    return waits;
  }
  /// Lets the operations that other groups are in the middle of share the register file with a product that begins at `start`.
  void disturb(Sm& sm, const ResidentGroup& issuer, double start, double from) const {
    const double until = sm.products.all_done();
    for (ResidentGroup& other : sm.slots) {
      if (&other == &issuer || other.stream == nullptr || other.compute_end == never || other.compute_end <= start) continue;
      const double end = std::min(other.compute_end, until), begin = std::max(from, other.beside_until);
      other.owed += share_with_products(sm, other.beside, start, end - begin);
      other.beside_until = std::max(other.beside_until, until);
    }
  }
  /// Stores the share of issue slots that the latest operation of a block takes over its `duration`.
  void note_issue_rate(ResidentGroup& group, float issued, double duration) const {
    if (are_crowded_ && issued > 0)
      group.issue_rate = issued * warps_a_scheduler_[static_cast<std::size_t>(&group - group.block)] / duration;
  }
  void record(int sm, const ResidentGroup& group, const Interval& interval, std::int32_t op);
  /// `streams` is that of a store.
  void record_compute(int sm, const ResidentGroup& group, double start, double end, double streams = 0);
  /// Occupies the pipes of an SM for an operation that starts at `start`.
  static void take_pipes(Sm& sm, const OpTiming& timing, double start) {
    for (std::size_t i = 0; i < timing.work.size(); ++i) sm.free[1 + i] = std::max(sm.free[1 + i], start) + timing.work[i];
  }
  /// Occupies the pipes and the memory pipe; returns when the memory pipe is done with the operation.
  static double take_all(Sm& sm, const OpTiming& timing, double start) {
    take_pipes(sm, timing, start);
    return serve(sm, sm.free[smem_port], start, timing.smem_cycles);
  }
  /// Serves `cycles` of the memory pipe, behind the products that read shared memory.
  static double serve(Sm& sm, double& own_free, double start, double cycles) {
    if (cycles > 0 && sm.products.busy_until() > start) cycles += sm.products.wait_for_reads(start, cycles);
    return sm.memory_pipe.serve(own_free, start, cycles);
  }
  // Recording and replaying of stretches: replay.cpp.
  /// Returns the position of a block whose next load is `next_load`.
  static StretchPosition position_of(const ResidentGroup& group, std::uint32_t next_load) {
    const OperationStream::Position &op = group.positions[group.next_compute], &load = group.load_positions[next_load];
    const auto landed = static_cast<std::uint32_t>(static_cast<std::int32_t>(next_load) - op.waited_for),
               given = static_cast<std::uint32_t>(group.next_signal - group.times) - static_cast<std::uint32_t>(load.waited_for);
    return {std::uint64_t{op.number} << 32 | load.number, std::uint64_t{landed} << 32 | given};
  }
  /// Fills in the state of an SM relative to `time`. Returns false if a key cannot describe it.
  static bool key_of(const Sm& sm, double time, StretchKey& key);
  bool may_replay(const Sm& sm) const;
  /// Returns whether a stretch that begins at `time` stays within the binade and all its data arrive before their deadlines.
  bool is_in_time(const Sm& sm, const Stretch& stretch, double time) const {
    bool is = time + stretch.latest < binade_end_;
    for (std::size_t i = 0; i < stretch.deadline_count; ++i) {
      const StretchDeadline& deadline = stretch.deadlines[i];
      const ResidentGroup& group = sm.slots[deadline.slot];
      is = is && group.times[OperationStream::landing(group.next_load) + deadline.moment] <= time + deadline.time;
    }
    return is;
  }
  void note_wait(std::uint32_t slot, const ResidentGroup& group, ScheduledOp op);
  void note_operation(const ResidentGroup& group, ScheduledOp op, double from, double to);
  /// Stores the stretch recorded from the load at `time` to the load at `next`. Returns its number; -1 if it cannot be replayed,
  /// for example because it depends on when data landed.
  std::int32_t keep_stretch(const Sm& sm, double time, double next, const ResidentGroup& next_block);
  /// Runs an SM from a load at `time` to its next event that other SMs can notice; returns the time of that event.
  double go_on(int sm, double time);
  /// Does the same by replaying stretch `number`.
  double accept(Sm& sm, std::int32_t number, double time);
  /// Moves the blocks' counters to the end of a stretch, `times` times.
  static void advance(Sm& sm, const Stretch& stretch, std::uint32_t times = 1) {
    for (std::size_t i = 0; i < sm.slots.size(); ++i) {
      sm.slots[i].next_compute += times * stretch.operations_of[i];
      sm.slots[i].next_signal += times * stretch.signals_of[i];
    }
  }
  void record_stretch(const Stretch& stretch, double time);
  /// Processes the load at `time` and replays the successor of the SM's stretch. Returns false, with the load still to be done, if
  /// there is no successor that fits.
  bool replay(int sm, double time, double& next);
  /// Lands the load at `time` and goes on with stretch `number`; returns the time of the next event.
  double land_in_stretch(int sm, ResidentGroup& group, std::int32_t number, double time, double landed);
  /// Brings an SM that is behind to the end of its stretch.
  void catch_up(int sm);
  /// Forgets all stretches: from `time` on, doubles have another resolution.
  void begin_binade(double time);
  /// Processes the next event of an SM that is not in a period.
  void go_on_with_sm();
  // SMs in periods: periods.cpp.
  bool is_upcoming_next() const {
    const UpcomingLoad& next = upcoming_[next_upcoming_];
    return next.time < order_.time() || (next.time == order_.time() && next.sm < order_.sm());
  }
  /// Processes upcoming loads, at most `most`, while they come next. Returns how many.
  int go_on_in_periods(int most);
  /// Fills in what depends on the class of a step's load.
  void complete_step(Period::Step& step, std::uint32_t op_class);
  /// Goes to the next upcoming load that still exists.
  void go_to_next_upcoming();
  /// Moves load `at`, the last of the ring, to its place. Returns whether it was elsewhere.
  bool sort_in(std::size_t at);
  void drop(UpcomingLoad& load);
  void clear_upcoming();
  /// Lets SMs enter periods.
  void plan_loads();
  /// Lists the loads of an SM in `entering_` if it is in a period that is about as long as `cycles`; 0: any.
  bool enter_period(std::size_t sm, double cycles);
  /// Returns how many more times all positions from the present one repeat after one `period`.
  double repetitions(const ResidentGroup& group, const Period::Advance& advance);
  std::uint32_t repeats_until(const std::vector<OperationStream::Position>& positions, std::uint32_t from, std::uint32_t step,
                              std::uint32_t waited);
  /// Brings an SM from its period to the end of the stretch that it is in.
  void leave_period(std::size_t sm);
  void leave_all_periods(double time);
  double part_done() const;  // of the running launch, 0..1

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
  std::vector<ResidentGroup*> next_of_sm_;  // the block with the next event of each SM
  // The running launch.
  int launch_ = 0;
  BlockSequence sequence_{BlockOrder::launch, 1, 1, 1};
  DeviceId device_;
  std::int64_t first_block_ = 0, blocks_ = 0, next_block_ = 0, finished_ = 0;
  std::int64_t stride_ = 0;  // of a persistent launch that does not draw: positions from a place's block to its next; otherwise 0
  std::vector<double> warps_a_scheduler_;  // of each group of a block
  bool are_crowded_ = false;               // several groups share an SM
  bool are_disturbed_ = false;             // see wait_beside_products()
  double launch_end_ = 0;
  double next_start_ = 0;  // earliest start of the next block
  BlockOperations scratch_;
  StretchPositions positions_;
  StretchTable stretches_;
  double binade_end_ = 0;
  Stretch recorded_;
  double recorded_from_ = 0;
  std::array<const double*, most_stretch_slots> signals_at_start_{};
  std::int64_t replayed_ = 0, in_periods_ = 0;
  bool is_recording_ = false, is_kept_ = false;
  // Loads that looked for a stretch, those that found one, and loads left that do not look.
  int looked_for_ = 0, found_ = 0, resting_ = 0;
  // The loads of SMs in periods: a ring in order of time that begins at `next_upcoming_`, with `live_upcoming_` loads and with
  // gaps. Without loads it is one that never comes.
  std::vector<UpcomingLoad> upcoming_ = std::vector<UpcomingLoad>(1, UpcomingLoad{.time = never}), entering_;
  std::size_t next_upcoming_ = 0, live_upcoming_ = 0;
  double plan_at_ = 0, plan_wait_ = 0;  // when to let SMs enter again, and how long to wait if few do
  std::vector<Repetition> repetitions_;
  // Schedules of this launch, by block shape.
  std::unordered_map<std::int64_t, std::shared_ptr<const BlockSchedule>> shapes_;
  std::size_t shapes_size_ = 0;
};

}  // namespace tilescope
