// Trace: what a simulation recorded, immutable; any step can be looked at in any order and gives the same bits.
//
//   steps follow the SM in focus: step k is the k-th operation to be over (by end, then start) on that SM (all its blocks), so that
//   the clock never runs backward from a step to the next. intervals() are by start: a step's own is in its TraceState.
//   The clock of a step is the END of its operation, so that its result can be seen at rest; everything else in the machine is
//   shown at that clock. Step 0 is the machine before anything ran.
//
//   A trace keeps to a budget. Past 2 million intervals only the SM asked for stays in focus, and of it the blocks that had begun;
//   past 4 million blocks only those of focused SMs are kept as runs. Sums over time (bins) are always complete.
//   Every function may be called from several threads at once, and what it returns depends on its arguments alone.
//
//   A trace is of one device; SMs are numbered from 0 on each. Of a run on several devices each has its own (devices.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/memory/ledger.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

enum class Grain : std::uint8_t { operation, tile, phase };

/// Why an operation did not start earlier; of several reasons the one that took longest.
enum class WaitCause : std::uint8_t {
  none,
  program_order,
  data,
  buffer,
  tensor,
  exp,
  fp32,
  smem,
  l2,
  hbm,
  barrier,
  block_slot,
  launch
};
std::string_view to_string(WaitCause cause);

/// One block on one SM, from its start to the end of its last operation.
struct BlockRun {
  std::int32_t launch = 0;
  std::int32_t sm = 0, slot = 0;  // slot: which of the SM's resident blocks
  std::int64_t block = 0;
  double start = 0, end = 0;  // cycles
  DeviceId device;            // whose SM it is
};

/// One operation of one block on a focused SM.
struct Interval {
  double start = 0, end = 0;  // cycles; a load from issue to landing
  double ready = 0;           // when its predecessor in the block was done: start - ready is the wait
  std::int32_t run = 0;       // index into Trace::runs()
  std::int32_t op = 0;        // index into the block's operations
  OpKind kind = OpKind::barrier;
  Unit unit = Unit::sync;
  WaitCause cause = WaitCause::none;
  float streams = 0;           // of a transfer: its last cycles, in which its bytes cross; before them it waits
  std::int64_t bytes = 0;      // on l2_to_sm or sm_to_l2
  std::int64_t hbm_bytes = 0;  // of these, read from HBM
};

struct LaunchTime {
  double start = 0, end = 0;  // cycles
};

/// Sums over equal bins of time, all SMs together.
struct TimeBins {
  double width = 0;                                                                       // cycles
  std::vector<TrafficTable> traffic;                                                      // bytes that landed in each bin
  std::vector<std::array<double, unit_count>> busy_cycles;                                // by unit, summed over SMs
  std::vector<std::array<std::int64_t, most_tensors>> l2_resident_bytes, l2_dirty_bytes;  // at the bin's end
};

/// A tile on its way over a link at a given moment.
struct TileInFlight {
  TileRef tile;
  bool to_sm = true;    // false: a store
  double progress = 0;  // part of its bytes that have crossed; 0 while it waits for latency or for others
  std::int32_t sm = 0;
  Slot slot = Slot::none;
  std::int64_t bytes = 0, hbm_bytes = 0;
};

/// One buffer on the focused SM.
struct SlotState {
  Slot slot = Slot::none;
  std::int32_t ring = 0;
  std::int32_t run = 0;  // which resident block's
  bool valid = false;    // holds data
  bool arriving = false;
  double progress = 0;   // of a load: part of its bytes that have landed; else of the operation's time
  TileRef tile;          // what it holds or is about to hold
  std::int32_t op = -1;  // of the run: the operation that fills it
};

struct SmState {
  std::int32_t run = -1;        // index into runs() of the block longest resident; -1 when idle
  std::int32_t resident = 0;    // blocks
  double progress = 0;          // of `run`, 0..1 by time
  std::uint8_t busy_units = 0;  // bit per Unit; only for SMs in focus
};

struct TraceState {
  std::int64_t step = 0;
  double cycle = 0;
  int launch = 0;
  std::int32_t run = -1, op = -1;  // the step's operation; -1 at step 0
  std::optional<Interval> interval;
  std::vector<SmState> sms;
  std::vector<TileInFlight> flights;  // focused SMs
  std::vector<SlotState> slots;       // SM of the step
  TrafficTable traffic{};             // so far, with the part of each flight that has crossed; exact when `traffic_exact`
  bool traffic_exact = true;
  std::array<std::int64_t, most_tensors> l2_resident{}, l2_dirty{};
  bool operator==(const TraceState&) const;
};

class Trace {
 public:
  virtual ~Trace() = default;

  virtual double end_cycle() const = 0;
  virtual std::span<const LaunchTime> launches() const = 0;
  /// Every block (see above), in order of start. Index = run id.
  virtual std::span<const BlockRun> runs() const = 0;
  virtual const TimeBins& bins() const = 0;

  /// SMs whose every interval is kept: all of them on a small GPU, else the one asked for.
  virtual std::span<const int> focused_sms() const = 0;
  /// In order of start. Empty for an SM out of focus.
  virtual std::span<const Interval> intervals(int sm) const = 0;

  /// Steps follow `sm`, which must be in focus.
  virtual std::int64_t step_count(int sm) const = 0;  // steps are 0 … step_count
  /// Random access; costs at most a millisecond at any size.
  virtual TraceState state_at(int sm, std::int64_t step) const = 0;
  /// The same, at any moment between two steps (for motion).
  virtual TraceState state_at_cycle(int sm, double cycle) const = 0;
  /// The next step (direction +1) or the previous (-1) at which a new operation, tile iteration or phase begins; clamped.
  virtual std::int64_t seek(int sm, std::int64_t from, Grain grain, int direction) const = 0;
  /// The last step that had ended by `cycle`.
  virtual std::int64_t step_at_cycle(int sm, double cycle) const = 0;
  /// The step whose operation is interval `interval` of intervals(sm); steps that end together are in the intervals' order.
  virtual std::int64_t step_of_interval(int sm, std::size_t interval) const = 0;
};

}  // namespace tilescope
