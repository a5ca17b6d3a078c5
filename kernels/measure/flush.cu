// Reads a scratch buffer of several L2 sizes, so that the next kernel finds its data only in HBM.
#include "kernels/device.h"

namespace tilescope {

namespace device {

struct FlushArguments {
  const uint4* from;
  std::int64_t count;
  unsigned* never;  // never written; keeps the compiler from removing the reads
};

/// Only reads: the lines it leaves in the L2 are clean, so the next kernel causes no write-back of them.
__global__ __launch_bounds__(256) void flush_kernel(const FlushArguments arguments) {
  unsigned sum = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < arguments.count;
       i += static_cast<std::int64_t>(gridDim.x) * 256) {
    const uint4 x = __ldcg(arguments.from + i);
    sum |= x.x ^ x.y ^ x.z ^ x.w;
  }
  if (sum == 0x5a5a5a5au) *arguments.never = sum;
}

}  // namespace device

PlannedLaunch plan_flush(const DeviceMemory& scratch) {
  device::FlushArguments arguments{};
  arguments.from = static_cast<const uint4*>(scratch.address());
  arguments.count = scratch.bytes() / 16;
  arguments.never = static_cast<unsigned*>(scratch.address());
  return planned("flush", reinterpret_cast<const void*>(&device::flush_kernel), {1024, 1, 1}, 256, 0, arguments);
}

}  // namespace tilescope
