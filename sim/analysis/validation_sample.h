// A stratified sample of a bundle: it takes a minute to simulate and has every kernel in every regime.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/analysis/validation.h"

namespace tilescope {

/// Returns the indices of the sampled cases, in ascending order. A stratum is a kernel, a regime of measured HBM reads relative to
/// the L2 (fits, near, beyond), and whether there is a mask. From each come the cheapest case and up to three more cheap ones,
/// spread evenly over their sizes. All cheap known misses are included.
/// Leaves out  library kernels, and cases without counters
std::vector<std::size_t> sample_cases(const MeasurementBundle& bundle, std::span<const KnownMiss> known);

}  // namespace tilescope
