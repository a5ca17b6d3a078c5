// HBM traffic during a kernel, by CUPTI's PM sampling: the GPU records its counters at a fixed interval.
#pragma once

#include "kernels/kernel_table.h"
#include "sim/core/probe_result.h"

namespace tilescope {

/// Counters that the chip can sample. The first query takes a tenth of a second, so its result is kept.
struct SamplerKnowledge {
  std::vector<std::uint8_t> availability;
};

/// Samples one run of the kernel from a flushed L2, at the finest interval that the chip offers and the run needs.
/// Errors   no GPU, no CUPTI, no permission; a chip or a CUPTI without PM sampling: says what was tried; those of launching
Result<BandwidthRecord> sample_bandwidth(const KernelInfo& kernel, const AttentionProblem& problem, SamplerKnowledge& knowledge);

/// Returns the start of the first sample with more than a trace of traffic; 0 without one.
double busy_from_ns(const std::vector<BandwidthSample>& samples);

/// Returns the samples from shortly before the first with traffic to shortly after the last, with times from the first one kept.
std::vector<BandwidthSample> trimmed(const std::vector<BandwidthSample>& samples);

}  // namespace tilescope
