// Plans the row softmax between the two products of standard and of standard_cublas.
#pragma once

#include <algorithm>

#include "kernels/planned_launch.h"

namespace tilescope {

/// Rows of a block: as many as shared memory holds, at most 4. A row too long for shared memory is read twice instead.
struct RowsOfBlock {
  std::int64_t rows = 0;
  std::int64_t kept_bytes = 0;  // bytes of shared memory; 0: rows are not kept
};
inline RowsOfBlock rows_of_block(const AttentionProblem& problem) {
  constexpr std::int64_t most_rows = 4;
  constexpr std::int64_t most_shared_bytes = 163 * 1024;  // of a block on sm_80, the smallest among the supported GPUs
  const std::int64_t row_bytes = row_pitch(problem.seq_kv, problem.dtype) * element_bytes(problem.dtype);
  const std::int64_t rows = std::min(most_shared_bytes / row_bytes, most_rows);
  return rows >= 1 ? RowsOfBlock{rows, rows * row_bytes} : RowsOfBlock{most_rows, 0};
}

enum class ScoresMasked : bool { no, yes };

/// Plans the softmax. If S is masked already, it reads and writes only the tiles that a query tile visits; else it writes all of P.
PlannedLaunch plan_rows(const AttentionProblem& problem, const DeviceTensors& tensors, ScoresMasked masked);

}  // namespace tilescope
