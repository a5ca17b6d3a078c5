// What the first block of a launch on an SM waits for: code and parameters that are not there yet.
#pragma once

#include "kernels/device.h"

namespace tilescope::microbench {

/// By how many cycles straight-line code takes longer the first time than the second, by its size: 4, 16 and 64 KiB.
struct FetchCycles {
  double small = 0, medium = 0, large = 0;
  double middle = 0;  // the median of these
};
/// All SMs at once, one block each, after a flush of the L2.
/// Errors  those of the device.
Result<FetchCycles> fetch_cycles(const DeviceInfo& device, int repeats);

}  // namespace tilescope::microbench
