// Handles of the two launches of flash3_backward around the gradients.
#pragma once

#include "sim/core/attention_problem.h"

namespace tilescope {

struct StripRows {
  const void* row_dots = nullptr;
  const void* convert = nullptr;
  int threads = 0;
};

/// Returns the query rows of a block, as many as a query tile of the gradients has.
constexpr int strip_rows_tile(int head_dim) {
  return head_dim == 64 ? 128 : 64;
}
/// Returns the launches for the problem's type and head dimension.
StripRows strip_rows_of(const AttentionProblem& problem);

}  // namespace tilescope
