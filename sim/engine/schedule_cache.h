// ScheduleCache: the schedule of each block shape of a launch, and how far the positions in them repeat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/engine/resident_group.h"
#include "sim/engine/schedule.h"
#include "sim/engine/stretches.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

class ScheduleCache {
 public:
  ScheduleCache(const TileProgram& program, ScheduleBuilder& builder) : program_(program), builder_(builder) {}

  /// Forgets the shapes of the last launch.
  void begin_launch(int launch);
  /// Finds or builds the schedule of block `number`, and gives `block` its origin. It emits the block's operations only for a new
  /// shape or a focused SM.
  void schedule(ResidentBlock& block, std::int64_t number);
  /// Returns how many more times all positions from the group's present one repeat after one `advance`.
  double repetitions(const ResidentGroup& group, const Period::Advance& advance);

 private:
  /// A run [begin, end) of positions that equal those `step` entries later, which waited for moments `waited` later.
  struct Repetition {
    const OperationStream::Position* positions = nullptr;
    std::uint32_t step = 0, waited = 0, begin = 0, end = 0;
  };
  std::uint32_t repeats_until(const std::vector<OperationStream::Position>& positions, std::uint32_t from, std::uint32_t step,
                              std::uint32_t waited);

  const TileProgram& program_;
  ScheduleBuilder& builder_;
  int launch_ = 0;
  std::unordered_map<std::int64_t, std::shared_ptr<const BlockSchedule>> shapes_;
  std::size_t shapes_size_ = 0;
  StretchPositions positions_;
  std::vector<Repetition> repetitions_;
  BlockOperations scratch_;
};

}  // namespace tilescope
