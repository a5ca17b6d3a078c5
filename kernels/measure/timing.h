// How long a kernel takes, by events around it, without a profiler.
#pragma once

#include <functional>
#include <vector>

#include "kernels/kernel_table.h"

namespace tilescope {

class ClockGauge;
enum class L2State : bool { warm, cold };

struct TimingOptions {
  int warm_ups = 5;
  int repeats = 20;
  L2State l2 = L2State::warm;
  ClockGauge* gauge = nullptr;  // reads the clock just outside of each repeat's events
};

struct Timing {
  double median_ms = 0, least_ms = 0, most_ms = 0;
  std::vector<double> repeats_ms;  // as measured
};

/// Scratch memory of several times the L2, whose reading leaves a clean L2 with nothing of the problem in it.
Result<DeviceMemory> flush_scratch(const DeviceInfo& device);

/// Times the whole kernel (all its launches) on the default stream. From a warm L2: right after a run of the same kernel.
/// Errors  those of launching. `scratch` must be there where the L2 is to be cold.
Result<Timing> time_kernel(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                           const DeviceMemory& scratch, const TimingOptions& options);

/// Floating-point operations of attention as it is usually counted: 4 B H Nq Nk D, half of it with a mask; a single product half of
/// either.
double nominal_flops(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace tilescope
