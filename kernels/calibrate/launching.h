// Costs of launches, blocks and barriers, and the clock under load.
#pragma once

#include <vector>

#include "kernels/device.h"

namespace tilescope::microbench {

struct LaunchCosts {
  double first_ns = 0;     // that two events around a kernel show beyond what it lasts
  double interval_ns = 0;  // from one launch to the next, as fast as the host makes them
  double gap_ns = 0;       // from the end of a kernel to the start of the next one of its stream
};
/// `many` launches in a row, medians of `repeats`.
Result<LaunchCosts> launch_costs(int many, int repeats);

struct BlockCosts {
  double gap_cycles = 0;  // from the end of a block to the start of the next on the same SM
};
Result<BlockCosts> block_costs(const DeviceInfo& device, int threads, int shared_bytes);

/// From giving out a block to giving out the next, wherever it goes.
Result<double> block_interval_ns(const DeviceInfo& device);

/// One __syncthreads() of a block that does nothing else.
Result<double> barrier_cycles(int threads);

struct LoadedClock {
  std::vector<double> hz;      // one launch after another
  double flops_per_cycle = 0;  // of one SM, in the last of them
};
/// Keeps all SMs at products and exponentials of random numbers for about `seconds`.
Result<LoadedClock> loaded_clock(const DeviceInfo& device, double seconds);

}  // namespace tilescope::microbench
