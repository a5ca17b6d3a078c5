// Closed forms of what each kernel moves between the L2 and the SMs, as its header states them.
#pragma once

#include <optional>

#include "kernels/kernel_table.h"

namespace tilescope {

struct KernelTraffic {
  std::int64_t l2_to_sm_bytes = 0, sm_to_l2_bytes = 0;
};

// Traffic of one plane, for the rows of the kernel table.
KernelTraffic naive_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic tiled_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic safe_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic online_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic fused_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic standard_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash1_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash2_traffic(const AttentionProblem& problem, const TileShape& tile);

/// Units   bytes. Statistics of a row are counted without the sectors that two tiles share
/// Errors  none; nothing for a library's kernel
std::optional<KernelTraffic> kernel_traffic(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace tilescope
