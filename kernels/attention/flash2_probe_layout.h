// Where a probed flash2 writes what it records; host and device agree on it here.
//
//   blocks  [block][5]                    SM + 1, start and end by the global timer, start and end by the SM's cycle counter
//   ticks   [slot][warp][tiles + 1][8]    cycle counter; a slot is a block on the SM looked into. In row `tiles`: entry, loop
//   begins,
//                                         loop ends, everything stored, and the block + 1
//   row     [tile][6]                     m, alpha, and l as the four lanes that share the row hold it
#pragma once

#include "kernels/planned_launch.h"

namespace tilescope {

inline constexpr int probe_block_numbers = 5, probe_events = 8, probe_row_numbers = 6, probe_warps = 4;
inline constexpr int probe_slots = 64;  // blocks of one SM that are recorded

/// Device memory, zeroed, and what is to be looked into.
struct ProbeBuffers {
  void* blocks = nullptr;
  void* ticks = nullptr;
  void* row = nullptr;
  void* slots_taken = nullptr;  // one unsigned
  int sm = 0, tiles = 0;
  int block = 0, row_of_tile = 0;
};

/// flash2 in fp16 with the probe compiled in.
PlannedLaunch plan_flash2_probed(const AttentionProblem& problem, const DeviceTensors& tensors, const ProbeBuffers& buffers);

}  // namespace tilescope
