// BlockSchedule: a block's operations as the timing model needs them, in eight bytes each instead of over a hundred.
//
//   BlockOperations ──ScheduleBuilder──► stream of compute and stores (in order)   entry: class, load that it waits for
//                                        stream of loads              (in order)   entry: class, tile, moment that frees its buffer
//
// Each distinct operation is an OpClass with its duration and its bytes. The count of each class then gives all totals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/engine/operation_costs.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

struct ScheduledOp {
  static constexpr std::uint32_t signal_bit = 0x80000000U;
  std::uint32_t op_class = 0;  // with signal_bit if something waits for its end
  std::int32_t wait = 0;       // the moment that it waits for: a landing, the end of an asynchronous product, or at_once
  std::uint32_t number() const { return op_class & ~signal_bit; }
  bool signals() const { return (op_class & signal_bit) != 0; }
};

/// Where the tiles of a block's accesses to a tensor lie, relative to those of its schedule.
struct TileShift {
  std::int32_t plane = 0, row = 0, col = 0;
};

/// A load or a store of a tile, in coordinates of its tensor.
struct PlacedAccess {
  std::int32_t plane = 0, row = 0, col = 0;
  std::uint32_t op_class = 0;

  bool operator==(const PlacedAccess& other) const {
    const std::int32_t places = (plane ^ other.plane) | (row ^ other.row) | (col ^ other.col);  // one branch, not four
    return (static_cast<std::uint32_t>(places) | (op_class ^ other.op_class)) == 0;
  }
};

/// A load or a store. Its plane is relative to the block's plane; its rows or columns along the domain's axis are relative to the
/// domain's first row. So all blocks of one shape share a schedule.
struct ScheduledAccess {
  std::int32_t plane = 0, row = 0, col = 0;
  std::uint32_t op_class = 0;
  std::int32_t after = 0;  // load: the moment that it waits for

  PlacedAccess placed(const TileShift& shift) const { return {plane + shift.plane, row + shift.row, col + shift.col, op_class}; }
};

/// The origin of a block's accesses, which turns those of a schedule into tiles.
struct BlockOrigin {
  std::int32_t plane = 0, kv_plane = 0;
  Axis axis = Axis::query;
  std::int32_t first = 0;
  std::int32_t mask_plane = 0;  // plane of the mask's block lists
  std::int32_t sequence = 0;
  std::int32_t only = 0;  // plane of a tensor with one plane

  /// Returns the member that has the plane of such tensors.
  static constexpr std::int32_t BlockOrigin::*plane_member(Planes planes) {
    switch (planes) {
      case Planes::key:
        return &BlockOrigin::kv_plane;
      case Planes::mask:
        return &BlockOrigin::mask_plane;
      case Planes::sequence:
        return &BlockOrigin::sequence;
      case Planes::all:
        return &BlockOrigin::only;
      case Planes::query:
        break;
    }
    return &BlockOrigin::plane;
  }
  std::int32_t plane_of(Tensor tensor) const { return this->*plane_member(tensor->planes); }
  std::int32_t row_of(Tensor tensor) const { return tensor->rows == axis ? first : 0; }
  std::int32_t col_of(Tensor tensor) const { return tensor->cols == axis ? first : 0; }
  TileShift shift_of(Tensor tensor) const { return {plane_of(tensor), row_of(tensor), col_of(tensor)}; }
};

/// The tokens of an operation that synchronise groups of warps. A token within one group is a moment of its stream instead.
struct TokenUse {
  std::int16_t wait = -1, signal = -1;
  std::int32_t count = 0;  // the signals that it waits for
  float delay = 0;         // cycles until it notices the last of them
  // Load: the token that frees its buffer, as a number of BlockOperations::tokens. In a persistent kernel the first loads of a
  // block wait for the buffers of the block before. -1: it waits for its own block.
  std::int16_t carry = -1;
};

/// The operations of one group of warps.
///
/// Everything that they wait for is a numbered moment, so that a wait is one look-up in a table of times. Moment 0 is past from the
/// start, then follow the landing of each load and the end of each operation that signals: to a load, or as an asynchronous
/// product.
struct OperationStream {
  static constexpr std::int32_t at_once = 0;
  static constexpr std::int32_t landing(std::size_t load) { return static_cast<std::int32_t>(1 + load); }
  std::int32_t signal(std::size_t n) const { return static_cast<std::int32_t>(1 + loads.size() + n); }
  std::size_t moments() const { return 1 + loads.size() + signals; }
  /// Removes everything and keeps the memory.
  void clear();

  std::vector<ScheduledOp> compute;  // includes stores
  std::vector<ScheduledAccess> loads, stores;
  std::size_t signals = 0;
  // Index in the block's operations of each entry of compute and loads.
  std::vector<std::int32_t> op_of_compute, op_of_load;
  /// The position before an entry. Positions with equal numbers are followed by the same entries (0: unknown). `waited_for` is the
  /// latest moment that the earlier entries waited for.
  struct Position {
    std::uint32_t number = 0;
    std::int32_t waited_for = 0;
  };
  std::vector<Position> positions, load_positions;           // of compute and of loads, and of their ends; empty if not numbered
  std::vector<std::uint32_t> reach;                          // by signals given: one past the last load that waits for any of these
  std::vector<TokenUse> tokens_of_compute, tokens_of_loads;  // parallel to compute and loads; empty if the block has no tokens
};

struct BlockSchedule {
  std::vector<OperationStream> groups;
  std::vector<std::string_view> tokens;  // names of the tokens between groups
  struct TokenTotal {
    std::int16_t number = 0;  // in BlockOperations::tokens
    std::int32_t signals = 0;
  };
  std::vector<TokenTotal> token_totals;  // parallel to tokens
  // How often each class occurs; filled by count_classes().
  std::vector<std::pair<std::uint32_t, std::int64_t>> class_counts;
  void count_classes();
  /// Returns its size in host memory, in bytes.
  std::size_t size() const;
};

class ScheduleBuilder {
 public:
  ScheduleBuilder(const GpuSpec& gpu, const AttentionProblem& problem);

  /// Starts a launch; the next blocks have these needs.
  void begin_launch(const KernelNeeds& needs, bool persistent = false);
  /// Returns what operations of this launch cost.
  const OperationCosts& costs() const { return costs_; }
  /// Builds the schedule of a block and adds the block to the class counts. Reuses the memory of `out`.
  void build(const BlockOperations& block, BlockSchedule& out);
  /// Adds another block with this schedule to the class counts.
  void count_again(const BlockSchedule& schedule);
  BlockOrigin origin(const Domain& domain) const;
  const OpClass& op_class(std::uint32_t index) const { return classes_[index]; }
  const OpTiming* timings() const { return timings_.data(); }
  const std::vector<OpClass>& classes() const { return classes_; }

 private:
  std::uint32_t class_of(const Operation& op, const BlockOperations& block);
  std::uint32_t find_class(const OpKey& key, const Operation& op, const BlockOperations& block);

  /// Returns the tokens between groups that an operation waits for and signals. `waited`: as in waited_.
  TokenUse tokens_of(const Operation& op, const BlockOperations& block, std::int32_t waited) const;
  /// Add a load, or an operation of compute, that waits for operation `waited` of its group, and return its entry of ordinal_. What
  /// it waits for stays an entry of ordinal_ until turn_into_moments().
  std::int32_t add_load(const ScheduledAccess& access, std::int32_t waited, OperationStream& stream) const;
  std::int32_t add_compute(std::uint32_t op_class, std::int32_t waited, OperationStream& stream) const;
  void turn_into_moments(OperationStream& stream);
  void add_meeting(const BlockOperations& block, std::size_t token, BlockSchedule& out);
  /// Returns how long after the signal of another group an operation begins.
  float delay_of(const Operation& op, const BlockOperations& block) const;
  /// Fills `waited_` and `meetings_`, and names the tokens between groups.
  void find_tokens(const BlockOperations& block, BlockSchedule& out);

  OperationCosts costs_;
  AttentionProblem problem_;
  bool persistent_ = false;
  std::vector<OpClass> classes_;
  std::vector<OpTiming> timings_;     // of each class, so that those of a block lie close together
  std::vector<std::uint32_t> table_;  // open addressing over classes_, a power of two; 0: free, otherwise index + 1
  std::uint32_t previous_ = 0;
  std::vector<std::int32_t> ordinal_;  // by operation: its index in its stream; -1 - n for load n
  std::vector<std::int32_t> waited_;   // by operation: the operation of its own group that it waits for; -1: none
  std::vector<std::vector<std::int32_t>> signals_;
  std::vector<std::int16_t> meetings_;  // by token: its number among the tokens between groups; -1: within one group
};

}  // namespace tilescope
