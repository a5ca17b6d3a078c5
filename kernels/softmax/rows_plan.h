// The launch of the softmax by rows, which stands between the two products of standard and of standard_cublas.
#pragma once

#include "kernels/planned_launch.h"

namespace tilescope {

/// Rows of a block: as many as fit shared memory, where one does; else they are read twice.
struct RowsOfBlock {
  std::int64_t rows = 0;
  bool kept = false;
};
inline RowsOfBlock rows_of_block(const AttentionProblem& problem) {
  constexpr std::int64_t most_rows = 4;
  constexpr std::int64_t most_shared_bytes = 163 * 1024;  // of a block on sm_80, the least of what these kernels run on
  const std::int64_t fit = most_shared_bytes / (problem.seq_kv * 2);
  return fit >= 1 ? RowsOfBlock{fit < most_rows ? fit : most_rows, true} : RowsOfBlock{most_rows, false};
}

enum class ScoresMasked : bool { no, yes };

/// Where S is masked already, only the tiles that a row of tiles visits are read and written; else P is written whole.
PlannedLaunch plan_rows(const AttentionProblem& problem, const DeviceTensors& tensors, ScoresMasked masked);

}  // namespace tilescope
