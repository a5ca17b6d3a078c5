// Times a kernel with events around it, without a profiler.
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
  ClockGauge* gauge = nullptr;  // reads the clock just outside each repeat's events
};

struct Timing {
  double median_ms = 0, least_ms = 0, most_ms = 0;
  std::vector<double> repeats_ms;  // as measured
  std::vector<double> repeats_hz;  // the clock of each repeat, with a gauge; 0 where it could not be read
};

/// Allocates scratch memory of several L2 sizes. Reading it leaves a clean L2 without lines of the problem.
Result<DeviceMemory> flush_scratch(const DeviceInfo& device);

/// Times all launches of the kernel on the default stream. A warm L2 is the state right after a run of the same kernel.
/// Errors   those of launching
/// Limits   a cold L2 needs `scratch`
Result<Timing> time_kernel(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                           const DeviceMemory& scratch, const TimingOptions& options);

/// Returns the usual FLOP count of attention: 4 B H Nq Nk D, half of it with a causal mask. A single product counts half, a
/// backward pass 2.5 times, whatever it recomputes.
double nominal_flops(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace tilescope
