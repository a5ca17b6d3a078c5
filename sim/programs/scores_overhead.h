// What the kernel of the tiled product does beside its arithmetic: the product alone, and the first launch of standard attention.
#pragma once

#include "sim/programs/block_builder.h"

namespace tilescope {

/// Places in shared memory, and the first operands from there. Where keys end inside the tile, the pad is masked beside them.
constexpr Overhead scores_overhead(const AttentionProblem& problem, bool ends_inside) {
  Overhead what = {.instructions = problem.head_dim <= 64 ? 12 : 23, .trips = 3, .barriers = 1};
  if (ends_inside) what.instructions += 83, what.alu = 83;
  return what;
}

/// Scale, and the way through shared memory.
constexpr Overhead scores_store_overhead = {.instructions = 204, .trips = 4, .barriers = 2};

}  // namespace tilescope
