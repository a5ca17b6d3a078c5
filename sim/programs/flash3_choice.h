// flash3: which Hopper kernel it launches for a problem. That was the fastest on an H200 and on an H100, or nearly
// (docs/ladder.md). It has no device code of its own, and its tile program is that of the same rung.
#pragma once

#include <cstdint>

#include "sim/core/attention_problem.h"
#include "sim/programs/hopper_rung_id.h"

namespace tilescope {

/// Returns the rung whose kernel flash3 launches.
///
///   d 128, and long d 64      hopper_causal
///   d 64, causal, Nq < 8192   hopper_wgmma_longest. Tiles of 192 rows waste work at the diagonal, and a second block on the SM
///                             hides the start and the end of a tile as well as persistence does
///   d 64 and Nq <= 1024       hopper_wgmma. Tiles of 192 rows waste work at the end of a short sequence
inline HopperRungId flash3_choice(const AttentionProblem& problem) {
  constexpr std::int64_t short_rows = 1024, long_rows = 8192;
  if (problem.head_dim != 64) return HopperRungId::causal;
  if (problem.causal) return problem.seq_q < long_rows ? HopperRungId::wgmma_longest : HopperRungId::causal;
  return problem.seq_q <= short_rows ? HopperRungId::wgmma : HopperRungId::causal;
}

}  // namespace tilescope
