// Trace: the recording of a simulation. It is immutable, and state_at() gives the same bits in whatever order steps are visited.
//
//   steps     Steps follow the focused SM: step k is the k-th of its operations by end, then start, over all its blocks. So time
//             never goes backward from one step to the next. Step 0 is the machine before anything ran.
//   time      The time of a step is the end of its operation, so that its result is visible. The rest of the machine is shown at
//             that time. intervals() are ordered by start; a step's own interval is in its TraceState.
//   budget    After 2 million intervals only the requested SM stays in focus, with the blocks that had begun. After 4 million
//             blocks only those of focused SMs become runs. The bins are always complete.
//   threads   Every function may be called from several threads at once; its result depends only on its arguments.
//   devices   A trace covers one device, with SMs numbered from 0. A run on several devices has one trace each (devices.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/memory/ledger.h"
#include "sim/memory/tile_cache.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

enum class Grain : std::uint8_t { operation, tile, phase };

/// Why an operation did not start earlier; of several causes, the longest.
enum class WaitCause : std::uint8_t {
  none,
  program_order,  // the operation before it
  data,           // the latency of a load
  buffer,         // a load: the buffer that it fills
  tensor,         // a pipe of the SM, or a product's result
  exp,
  fp32,
  smem,        // the memory pipe of the SM
  l2_path,     // bandwidth between SM and L2: the SM's port, the L2, its fabric, the link to another device
  hbm,         // bandwidth of HBM
  barrier,     // a signal of another warp group
  block_slot,  // a block: the one before it on its SM
  launch       // a block: the launch
};
std::string_view to_string(WaitCause cause);

/// One block on one SM, from its start to the end of its last operation.
struct BlockRun {
  std::int32_t launch = 0;
  std::int32_t sm = 0, slot = 0;  // slot: number among the resident blocks of the SM
  std::int64_t block = 0;
  double start = 0, end = 0;  // cycles
  DeviceId device;            // of the SM
};

/// One operation of one block on a focused SM.
struct Interval {
  double start = 0, end = 0;  // cycles; of a load: issue and landing
  double ready = 0;           // end of its predecessor in the block; start - ready is the wait
  std::int32_t run = 0;       // index into Trace::runs()
  std::int32_t op = 0;        // index into the block's operations
  OpKind kind = OpKind::barrier;
  Unit unit = Unit::sync;
  WaitCause cause = WaitCause::none;
  std::uint8_t group = 0;      // the warp group that executes it
  float streams = 0;           // of a transfer: its last cycles, in which its bytes cross; before them it waits
  std::int64_t bytes = 0;      // on l2_to_sm or sm_to_l2
  std::int64_t hbm_bytes = 0;  // part of `bytes` read from HBM
};

struct LaunchTime {
  double start = 0, end = 0;  // cycles
};

/// Sums over equal bins of time, for all SMs together.
struct TimeBins {
  double width = 0;                                         // cycles
  std::vector<TrafficTable> traffic;                        // bytes that landed in each bin
  std::vector<std::array<double, unit_count>> busy_cycles;  // by unit, summed over SMs
  std::vector<CacheContents> l2;                            // at the bin's end
};

/// A tile in flight at a given moment.
struct TileInFlight {
  TileRef tile;
  bool to_sm = true;    // false: a store
  bool adds = false;    // a store that adds to what lies in memory
  double progress = 0;  // share of its bytes that have crossed; 0 while it waits for latency or for other transfers
  std::int32_t sm = 0;
  ChipTile chip_tile = ChipTile::none;
  std::int64_t bytes = 0, hbm_bytes = 0;
};

/// One buffer of an on-chip tile on the focused SM.
struct ChipTileState {
  ChipTile chip_tile = ChipTile::none;
  std::int32_t ring = 0;
  std::int32_t run = 0;   // the resident block that owns it
  bool valid = false;     // holds data
  bool arriving = false;  // is being filled
  double progress = 0;    // of a load: share of its bytes that have landed; else of the operation's time
  TileRef tile;           // the tile that it holds or receives
  std::int32_t op = -1;   // the operation of the run that fills it
};

struct SmState {
  std::int32_t run = -1;        // the block resident longest, as an index into runs(); -1: idle
  std::int32_t resident = 0;    // number of resident blocks
  double progress = 0;          // of `run`, 0..1, by time
  std::uint8_t busy_units = 0;  // bit per Unit; only for SMs in focus
};

struct TraceState {
  std::int64_t step = 0;
  double cycle = 0;
  int launch = 0;
  std::int32_t run = -1, op = -1;  // the step's operation; -1 at step 0
  std::optional<Interval> interval;
  std::vector<SmState> sms;
  std::vector<TileInFlight> flights;      // of all focused SMs
  std::vector<ChipTileState> chip_tiles;  // of the step's SM
  TrafficTable traffic{};  // up to this moment, with the share of each flight that has crossed; exact when `traffic_exact`
  bool traffic_exact = true;
  CacheContents l2;
  bool operator==(const TraceState&) const;
};

class Trace {
 public:
  virtual ~Trace() = default;

  virtual double end_cycle() const = 0;
  virtual std::span<const LaunchTime> launches() const = 0;
  /// Returns the blocks in order of start, within the budget above. A run id is an index into it.
  virtual std::span<const BlockRun> runs() const = 0;
  virtual const TimeBins& bins() const = 0;

  /// Returns the SMs whose intervals are kept: all on a small GPU, otherwise the requested ones.
  virtual std::span<const int> focused_sms() const = 0;
  /// Returns the intervals of an SM in order of start; none for an SM out of focus.
  virtual std::span<const Interval> intervals(int sm) const = 0;

  /// Returns the last step of `sm`, which must be in focus. Its steps are 0 … step_count.
  virtual std::int64_t step_count(int sm) const = 0;
  /// Returns the state at a step. Random access: at most a millisecond at any size.
  virtual TraceState state_at(int sm, std::int64_t step) const = 0;
  /// Returns the state at any moment, also between two steps (for motion).
  virtual TraceState state_at_cycle(int sm, double cycle) const = 0;
  /// Returns the next (direction +1) or previous (-1) step at which an operation, tile iteration or phase begins; clamped.
  virtual std::int64_t seek(int sm, std::int64_t from, Grain grain, int direction) const = 0;
  /// Returns the last step that ended by `cycle`.
  virtual std::int64_t step_at_cycle(int sm, double cycle) const = 0;
  /// Returns the step of interval `interval` of intervals(sm). Steps that end together keep the order of their intervals.
  virtual std::int64_t step_of_interval(int sm, std::size_t interval) const = 0;
};

}  // namespace tilescope
