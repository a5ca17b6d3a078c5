// Tensor-core throughput of one SM, by instruction, shape and type.
#pragma once

#include <string>
#include <vector>

#include "kernels/device.h"

namespace tilescope::microbench {

struct ProductRate {
  std::string shape;  // "m64n256k16"
  std::string type;   // type of the factors; sums are fp32
  bool left_in_registers = true;
  double flops_per_cycle = 0;  // of one SM
};

/// Measures mma.sync on registers, two warps on each sub-partition.
Result<std::vector<ProductRate>> mma_rates();

/// Measures wgmma.mma_async: two warpgroups on an SM, the right factor in shared memory. Returns nothing where the device or the
/// build has no wgmma.
Result<std::vector<ProductRate>> wgmma_rates(const DeviceInfo& device);

}  // namespace tilescope::microbench
