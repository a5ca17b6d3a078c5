// Lane: one simulation on screen, and what is known of the step it stands at.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/engine/simulation.h"
#include "sim/numerics/program_reference.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

class TileAccesses;   // app/model/run_data/tile_accesses.h
struct TimelineData;  // app/model/run_data/timeline_data.h
struct SmLanes;       // app/model/run_data/sm_lanes.h
struct SmWorks;

/// There is one lane, or two in Race: standard attention and the chosen algorithm on one clock.
struct Lane {
  std::shared_ptr<const Simulation> simulation;
  TraceState state;                                 // at the shown clock
  TraceState rest;                                  // at the step itself, when state is on its way to it
  const BlockOperations* operations = nullptr;      // of the step's block; nullptr at step 0
  const Operation* operation = nullptr;             // the step's operation
  int values_op = -1;                               // the operation of the block up to which its values stand; -1: none is done yet
  std::shared_ptr<const BlockValues> history;       // values of that block; null while they are being worked out
  std::shared_ptr<const ReferencePlane> reference;  // float64 attention of the block's plane; null where that is too large
  std::shared_ptr<const TileAccesses> tile_accesses;  // when the plane's tiles were read and written; null while that is worked out
  std::shared_ptr<const TimelineData> timeline;       // lanes and labels of the SM in focus; null while they are laid out
  std::shared_ptr<const SmLanes> sm_lanes;  // where and when each block ran; null where lanes are units, and while it is sorted
  std::shared_ptr<const SmWorks> sm_works;  // what SMs did that were looked into; null where none was
  std::int64_t step = 0, step_count = 0;
  int focus_sm = 0;
};

/// Returns the bytes that the L2 still has to write to HBM once the run is over; 0 before its end.
std::int64_t left_in_l2(const Lane& lane);

/// Returns "≈ " for bytes so far that the trace of a long run has by intervals alone; "" where they are exact. No bytes are exact.
const char* about_mark(const Lane& lane, double bytes);

/// The largest plane (keys x head_dim) that is held against float64: a row of it then costs a frame about a millisecond.
inline constexpr std::int64_t most_checked_elements = std::int64_t{1} << 20;

}  // namespace tilescope
