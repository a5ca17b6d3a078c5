// Closed forms of the traffic between the L2 and the SMs. Each kernel's header states its own form for the unmasked case.
#pragma once

#include <optional>

#include "kernels/kernel_table.h"

namespace tilescope {

struct KernelTraffic {
  std::int64_t l2_to_sm_bytes = 0, sm_to_l2_bytes = 0;
  std::int64_t reduce_bytes = 0;  // part of sm_to_l2_bytes that is added to memory
};

// Traffic of one plane (one head of one batch); the rows of the kernel table point here.
KernelTraffic naive_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic tiled_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic safe_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic online_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic fused_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic standard_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash1_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash2_traffic(const AttentionProblem& problem, const TileShape& tile);
/// TMA moves whole boxes: the counters include the zeros of a box past the last row.
KernelTraffic hopper_traffic(const AttentionProblem& problem, const TileShape& tile);
/// With the tickets: 32 bytes for each query tile, in both directions.
KernelTraffic hopper_causal_traffic(const AttentionProblem& problem, const TileShape& tile);
/// As much for each thread block that ends, of which every SM has one, and the reset of two counters.
KernelTraffic hopper_causal_block_traffic(const AttentionProblem& problem, const TileShape& tile, int sm_count);
KernelTraffic standard_backward_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash1_backward_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash2_backward_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash3_backward_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash3_backward_key_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic two_pass_traffic(const AttentionProblem& problem, const TileShape& tile);
// Traffic of one key plane.
KernelTraffic standard_backward_key_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash1_backward_key_traffic(const AttentionProblem& problem, const TileShape& tile);
KernelTraffic flash2_backward_key_traffic(const AttentionProblem& problem, const TileShape& tile);

/// Returns the traffic of a whole problem on a device with so many SMs; nothing for a library kernel.
/// Units    bytes
/// Leaves out  sectors that two query tiles share at the edges of m, l and lse: they are counted once
std::optional<KernelTraffic> kernel_traffic(const KernelInfo& kernel, const AttentionProblem& problem, int sm_count);

}  // namespace tilescope
