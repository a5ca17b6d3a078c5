// What the programs of this folder need that begin a kernel on a cold L2: a flush that reads memory of several L2 sizes, and the
// cycle counter.
#pragma once

#include <cstddef>

__device__ __forceinline__ long long cycle_counter() {
  long long now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
  return now;
}

__global__ __launch_bounds__(256) void flush_kernel(const uint4* from, long long count, unsigned* never) {
  unsigned sum = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x; i < count;
       i += static_cast<long long>(gridDim.x) * 256) {
    const uint4 x = __ldcg(from + i);
    sum |= x.x ^ x.y ^ x.z ^ x.w;
  }
  if (sum == 0x5a5a5a5au) *never = sum;
}

/// Memory that a flush reads: four times the L2.
struct FlushScratch {
  uint4* memory = nullptr;
  long long count = 0;

  void allocate(const cudaDeviceProp& properties) {
    count = 4ll * properties.l2CacheSize / 16;
    cudaMalloc(&memory, static_cast<std::size_t>(count) * 16);
    cudaMemset(memory, 0, static_cast<std::size_t>(count) * 16);
  }
  /// Launches the flush. `shared_bytes`: of dynamic shared memory, which it does not use.
  void flush(int shared_bytes = 0) const {
    flush_kernel<<<1024, 256, shared_bytes>>>(memory, count, reinterpret_cast<unsigned*>(memory));
  }
};
