// A stratified sample of a bundle: a part that is simulated in a minute and meets every kernel in every regime.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/analysis/validation.h"

namespace tilescope {

/// Chooses cases by kernel, by measured HBM reads against the L2 (fit, near, beyond), and by mask. Of each stratum it takes the
/// cheapest case and up to three more that are cheap, spread evenly over their sizes. Cheap known misses are all in it.
/// Leaves out  kernels of a library, and cases without counters.
/// Returns indices into the bundle's cases, in ascending order.
std::vector<std::size_t> sample_cases(const MeasurementBundle& bundle, std::span<const KnownMiss> known);

}  // namespace tilescope
