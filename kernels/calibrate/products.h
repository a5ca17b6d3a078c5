// What the tensor cores of one SM reach, by instruction, shape and type.
#pragma once

#include <string>
#include <vector>

#include "kernels/device.h"

namespace tilescope::microbench {

struct ProductRate {
  std::string shape;  // "m64n256k16"
  std::string type;   // of the factors; sums are fp32: "fp16", "bf16", "tf32"
  bool left_in_registers = true;
  double flops_per_cycle = 0;  // of one SM
};

/// mma.sync on registers, two warps a quarter.
Result<std::vector<ProductRate>> mma_rates();

/// wgmma.mma_async, two warpgroups on an SM, the right factor in shared memory. Empty where the device has no wgmma, or the kernels
/// were built without it.
Result<std::vector<ProductRate>> wgmma_rates(const DeviceInfo& device);

}  // namespace tilescope::microbench
