// What the kernel of the tiled product does beside its arithmetic: the product alone, and the first launch of standard attention.
#pragma once

#include "sim/programs/block_builder.h"

namespace tilescope {

/// Places in shared memory, and the first operands from there.
constexpr Beside scores_beside(const AttentionProblem& problem) {
  return {.instructions = problem.head_dim <= 64 ? 40 : 60, .trips = 3, .barriers = 1};
}

/// Scale, and the way through shared memory. Rows that are no whole number of 16-byte pieces leave element by element.
constexpr Beside scores_store_beside(const AttentionProblem& problem) {
  if (problem.seq_kv % 8 == 0) return {.instructions = 310, .trips = 10, .barriers = 2};
  return {.instructions = 2150, .trips = 32, .barriers = 2, .alu = 900};
}

}  // namespace tilescope
