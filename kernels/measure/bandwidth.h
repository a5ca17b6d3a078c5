// HBM traffic over the life of a kernel, by CUPTI's PM sampling: the chip writes its counters down at a fixed interval.
#pragma once

#include "kernels/kernel_table.h"
#include "sim/core/probe_result.h"

namespace tilescope {

/// What the chip can sample: asked for at the first sampling, which takes a tenth of a second, and kept for the next.
struct SamplerKnowledge {
  std::vector<std::uint8_t> availability;
};

/// Samples one run of the kernel from a flushed L2, as finely as the chip allows and the kernel is worth.
/// Errors  no GPU, no CUPTI, no permission; a chip or a CUPTI without PM sampling: says what was tried; those of launching.
Result<BandwidthRecord> sample_bandwidth(const KernelInfo& kernel, const AttentionProblem& problem, SamplerKnowledge& knowledge);

/// When the kernel's traffic begins: the start of the first sample with more than a trace of it; 0 where there is none.
double busy_from_ns(const std::vector<BandwidthSample>& samples);

/// The samples from a little before the first with traffic to a little after the last, with times from the first kept.
std::vector<BandwidthSample> trimmed(const std::vector<BandwidthSample>& samples);

}  // namespace tilescope
