// Cost of cold instruction fetches: the first block of a launch on an SM waits for code that is not yet in the caches.
#pragma once

#include "kernels/device.h"

namespace tilescope::microbench {

/// Extra cycles of the first run of straight-line code over the second, for 4, 16 and 64 KiB of code.
struct FetchCycles {
  double small = 0, medium = 0, large = 0;
  double middle = 0;  // median of the three
};
/// Measures all SMs at once, one block each, after an L2 flush.
/// Errors   those of the device
Result<FetchCycles> fetch_cycles(const DeviceInfo& device, int repeats);

}  // namespace tilescope::microbench
