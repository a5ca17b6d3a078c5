// Where a probed kernel writes what it records, launch by launch; host and device agree on it here.
//
//   blocks  [block][5]                         SM + 1, start and end by the global timer, start and end by the SM's cycle counter
//   ticks   [slot][warp][iterations + 1][8]    cycle counter; a slot is a block on the SM looked into. In row `iterations`: entry,
//                                              loop begins, loop ends, everything stored, and the block + 1
//   row     [step][6]                          m, alpha, and l as the four lanes that share the row hold it
#pragma once

#include <span>

#include "kernels/planned_launch.h"

namespace tilescope {

inline constexpr int probe_block_numbers = 5, probe_events = 8, probe_row_numbers = 6;

/// Device memory of one launch, zeroed, and what is to be looked into.
struct ProbeBuffers {
  void* blocks = nullptr;
  void* ticks = nullptr;
  void* row = nullptr;
  void* slots_taken = nullptr;  // one unsigned
  int sm = 0, iterations = 0, slots = 0;
  int block = 0, row_of_block = 0;
};

// The kernels with the probe compiled in; one entry of `buffers` a launch.
LaunchPlan plan_flash2_probed(const AttentionProblem& problem, const DeviceTensors& tensors, std::span<const ProbeBuffers> buffers);
LaunchPlan plan_flash1_probed(const AttentionProblem& problem, const DeviceTensors& tensors, std::span<const ProbeBuffers> buffers);
LaunchPlan plan_standard_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                std::span<const ProbeBuffers> buffers);

}  // namespace tilescope
