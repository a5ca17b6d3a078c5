// Layouts and row sizes of a problem's tensors.
#include "sim/programs/block_plan.h"

namespace tilescope {

BlockPlan::BlockPlan(const AttentionProblem& problem, const TileShape& tile)
    : grid(problem, tile),
      head_dim(static_cast<std::int32_t>(problem.head_dim)),
      element(element_bytes(problem.dtype)),
      scale(static_cast<float>(problem.scale())) {
  for (Tensor tensor : all_tensors) {
    const auto t = static_cast<std::size_t>(tensor);
    layouts[t] = tensor_layout(problem, tile, tensor);
    const std::int64_t row_bytes = layouts[t].row_bytes();
    whole_row_bytes[t] = row_bytes % sector_size == 0 ? row_bytes : 0;
  }
}

}  // namespace tilescope
