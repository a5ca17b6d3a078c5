// Closed forms of what each kernel moves between the L2 and the SMs, as its header states them.
#pragma once

#include <optional>

#include "kernels/kernel_table.h"

namespace tilescope {

struct KernelTraffic {
  std::int64_t l2_to_sm_bytes = 0, sm_to_l2_bytes = 0;
};

/// Units   bytes. Statistics of a row are counted without the sectors that two tiles share
/// Errors  none; nothing for a library's kernel
std::optional<KernelTraffic> kernel_traffic(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace tilescope
