// What the kernel of the tiled product does beside its arithmetic: the product alone, and the first launch of standard attention.
#pragma once

#include "sim/programs/block_builder.h"

namespace tilescope {

/// Addresses and guards of the copies.
constexpr Beside scores_beside() {
  return {.instructions = 280, .chain = 60, .barriers = 1};
}

/// Scale, and the way through shared memory. Rows that are no whole number of 16-byte pieces leave element by element.
constexpr Beside scores_store_beside(const AttentionProblem& problem) {
  constexpr int pieces = 400, elements = 1300;
  return {.instructions = problem.seq_kv % 8 == 0 ? pieces : elements, .chain = 60, .barriers = 2};
}

}  // namespace tilescope
