// Costs of launches, block starts and barriers, and the SM clock under load.
#pragma once

#include <vector>

#include "kernels/device.h"

namespace tilescope::microbench {

struct LaunchCosts {
  double first_ns = 0;     // time between two events around a kernel, minus the kernel's own
  double interval_ns = 0;  // between two launches, as fast as the host issues them
  double gap_ns = 0;       // from the end of a kernel to the start of the next on its stream
};
/// Measures `many` launches in a row; medians of `repeats`.
Result<LaunchCosts> launch_costs(int many, int repeats);

struct BlockCosts {
  double gap_cycles = 0;  // from the end of a block to the start of the next on the same SM
};
Result<BlockCosts> block_costs(const DeviceInfo& device, int threads, int shared_bytes);

/// Returns the time between two blocks that the block scheduler starts, on any SM.
Result<double> block_interval_ns(const DeviceInfo& device);

/// Returns the cycles of one __syncthreads() in a block that does nothing else.
Result<double> barrier_cycles(int threads);

struct LoadedClock {
  std::vector<double> hz;      // one value a launch
  double flops_per_cycle = 0;  // of one SM, in the last launch
};
/// Runs products and exponentials of random numbers on all SMs for about `seconds`.
Result<LoadedClock> loaded_clock(const DeviceInfo& device, double seconds);

}  // namespace tilescope::microbench
