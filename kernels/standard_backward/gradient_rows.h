// The rows of a block of the third launch of standard_backward, which turns P and dP into dS.
#pragma once

#include <algorithm>

#include "kernels/standard/rows_plan.h"

namespace tilescope {

/// As many rows of P and dP as shared memory holds, at most 4. Rows too long for it are read twice instead.
inline RowsOfBlock gradient_rows_of_block(const AttentionProblem& problem) {
  constexpr std::int64_t most_rows = 4;
  constexpr std::int64_t most_shared_bytes = 162 * 1024;  // of a block on sm_80, less the scratch memory of the sums
  const std::int64_t both_bytes = 2 * row_pitch(problem.seq_kv, problem.dtype) * element_bytes(problem.dtype);
  const std::int64_t rows = std::min(most_shared_bytes / both_bytes, most_rows);
  return rows >= 1 ? RowsOfBlock{rows, rows * both_bytes} : RowsOfBlock{most_rows, 0};
}

}  // namespace tilescope
