// ResidentGroup: a warp group of a block that is on an SM, and how far it has come. ResidentBlock: what the groups of a block
// share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/issue_order.h"
#include "sim/engine/schedule.h"
#include "sim/engine/stretches.h"
#include "sim/engine/trace.h"

namespace tilescope {

struct ResidentGroup;

/// A block on an SM, or a place for one.
struct ResidentBlock {
  ResidentGroup* groups = nullptr;  // the first of its groups; the others follow
  std::size_t groups_left = 0;      // groups still running; 0: the place is free
  std::int32_t run = -1;
  bool focused = false;
  BlockOrigin origin;
  const BlockSchedule* schedule = nullptr;     // `own` or `shared`
  std::vector<std::vector<double>> signalled;  // by token: the time of each of its signals
  // Of a persistent kernel: the place of the block before and of the one after, which alternate, and their ordinal.
  ResidentBlock* neighbour = nullptr;
  std::int64_t ordinal = 0;
  std::uint32_t waiting = 0;  // bit per group that could go on with the next block if the neighbour's place were free
  BlockSchedule own;
  std::shared_ptr<const BlockSchedule> shared;
  BlockOperations operations;  // while focused
};

struct alignas(64) ResidentGroup {
  static constexpr double never = IssueOrder::never;
  enum class Next : std::uint8_t { nothing, compute, load, store, finish };

  // A load in a period touches only the first cache line, and the event loop only the first two.
  const ScheduledAccess* loads = nullptr;
  double* times = nullptr;  // when each moment of the stream came; `never` for moments to come
  double issued = 0;        // issue of the latest load
  double drained = 0;       // when all loads and stores so far have landed
  double copied = 0;        // when all copies so far have landed
  std::uint32_t next_load = 0, load_count = 0;
  std::uint32_t next_compute = 0, op_count = 0;
  const ScheduledOp* ops = nullptr;
  double* next_signal = nullptr;  // next signal to set in `times`
  double compute_end = 0;         // end of the latest compute operation
  std::uint32_t next_store = 0;
  std::uint32_t number = 0;  // among the groups of its block
  double issue_rate = 0;     // share of a scheduler's issue slots that the latest operation takes
  double sliced_end = 0;     // end of the operations whose slices the next product consumes; 0 if there are none
  // Of the latest operation, where products run beside it: what they cost one another in each of its cycles, and until when
  // products are counted. Products that begin while it runs are not known at its start: it ends later by `owed` than
  // `compute_end` says.
  BesideProducts beside;
  double beside_until = 0, owed = 0;
  BlockOrigin origin;
  std::uint32_t slot = 0;  // among the groups of its SM
  Next next = Next::nothing;
  bool focused = false;
  std::uint8_t sliced = 0, slices = 1;  // 1 while slices of an operation still run, and how many it has
  WaitCause start_cause = WaitCause::launch;
  std::int32_t run = -1;
  const TokenUse *tokens_of_compute = nullptr, *tokens_of_loads = nullptr;          // null if the block has no tokens
  const OperationStream* stream = nullptr;                                          // its part of the schedule; null: not running
  const OperationStream::Position *positions = nullptr, *load_positions = nullptr;  // of the stream
  ResidentBlock* block = nullptr;
  double start = 0;  // when it began
  std::vector<double> moments;
  std::vector<WaitCause> landed_by;  // while focused
  WaitCause copied_by = WaitCause::none;

  /// Returns whether it has loads or operations left.
  bool has_work() const { return next_compute < op_count || next_load < load_count; }
  /// Returns when a token reached the signal count that `use` waits for; `never` if it has not yet.
  double token_time(const TokenUse& use) const {
    if (use.wait < 0 || use.count <= 0) return 0;
    const std::vector<double>& signals = block->signalled[static_cast<std::size_t>(use.wait)];
    return signals.size() < static_cast<std::size_t>(use.count) ? never
                                                                : signals[static_cast<std::size_t>(use.count) - 1] + use.delay;
  }
  /// Returns when the previous block of a persistent kernel has freed the buffer of a load; `never` if it has not yet.
  double carried_time(const TokenUse& use) const;
  /// Returns when it can issue its next load.
  double load_time() const {
    if (next_load == load_count) return never;
    const double time = std::max(issued, times[loads[next_load].after]);
    if (tokens_of_loads == nullptr) return time;
    const TokenUse& use = tokens_of_loads[next_load];
    return std::max({time, token_time(use), carried_time(use)});
  }
  /// Returns when the data and the preceding operation of its next operation `op` are done; `never` if its load has not been
  /// issued.
  double ready_time(ScheduledOp op) const {
    const double ready = std::max(compute_end, times[op.wait]);
    return tokens_of_compute == nullptr ? ready : std::max(ready, token_time(tokens_of_compute[next_compute]));
  }
  /// Returns its position if its next load is `load`.
  StretchPosition position_at(std::uint32_t load) const {
    const OperationStream::Position &op = positions[next_compute], &at_load = load_positions[load];
    const auto landed = static_cast<std::uint32_t>(static_cast<std::int32_t>(load) - op.waited_for),
               given = static_cast<std::uint32_t>(next_signal - times) - static_cast<std::uint32_t>(at_load.waited_for);
    return {std::uint64_t{op.number} << 32 | at_load.number, std::uint64_t{landed} << 32 | given};
  }
};

inline double ResidentGroup::carried_time(const TokenUse& use) const {
  const ResidentBlock* const before = block->neighbour;
  if (use.carry < 0 || before == nullptr || before->groups_left == 0 || before->ordinal > block->ordinal) return 0;
  const std::vector<BlockSchedule::TokenTotal>& totals = before->schedule->token_totals;
  for (std::size_t token = 0; token < totals.size(); ++token) {
    if (totals[token].number != use.carry) continue;
    const std::vector<double>& signals = before->signalled[token];
    if (signals.size() < static_cast<std::size_t>(totals[token].signals)) return never;
    return signals.empty() ? 0 : signals.back();
  }
  return 0;  // the block before did not use the buffer
}

}  // namespace tilescope
