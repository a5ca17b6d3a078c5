// Closed forms of what each kernel moves between the L2 and the SMs, as its header states them.
#pragma once

#include <optional>

#include "kernels/kernel_table.h"

namespace tilescope {

struct KernelTraffic {
  std::int64_t l2_to_sm_bytes = 0, sm_to_l2_bytes = 0;
};

/// Units   bytes, where every row of every tensor is whole 32-byte sectors; elsewhere what the rows hold, without the sectors they
/// share Errors  none; nothing for a library's kernel
std::optional<KernelTraffic> kernel_traffic(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace tilescope
