// D = rowsum(dO ∘ O), and how a block of a launch without products takes its rows.
#pragma once

#include <cstdint>

#include "sim/programs/block_builder.h"

namespace tilescope {

/// How a block of a row launch takes its rows. Each thread asks for 16 bytes of each tensor, passes them through dependent
/// shuffles, and only then asks for the next: the loops are compiled that way.
struct RowSteps {
  std::int64_t rounds = 1;       // of the loads
  std::int64_t round_trips = 0;  // of all shuffles
};
RowSteps row_steps(std::int64_t rows, std::int64_t row_bytes, const KernelNeeds& needs, std::int64_t shuffles);

/// The listing lines of emit_row_dot().
struct RowDotLines {
  LineId load_o, load_d_o, dot, store;
};
/// Emits D = rowsum(dO ∘ O) for the `rows` rows of a block.
void emit_row_dot(BlockBuilder& b, const RowDotLines& lines, const AttentionProblem& problem, const KernelNeeds& needs,
                  std::int64_t rows);

}  // namespace tilescope
