// Measures how long a thread takes to ask TMA for boxes of one and of two panels (128 bytes of each row), as hopper_wgmma does
// between two key tiles: an mbarrier is told the bytes of K, K is requested, then the same for V.
//
//   g++ -std=c++20 -O2 -I. -DFMT_HEADER_ONLY -c -o problem.o sim/core/attention_problem.cpp
//   nvcc -O3 -std=c++20 -I. -gencode=arch=compute_90a,code=sm_90a -o box_requests kernels/lab/box_requests.cu
//   kernels/common/hopper_plan.cu problem.o
//   ./box_requests
//
// Cycles of the SM, medians of 51 launches. "in a row" is what a request takes among six.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/lab/boxes.cuh"

namespace {

namespace device = tilescope::device;
using tilescope::median_of;

constexpr int most_requests = 6, rows_of_data = 4096;

__device__ __forceinline__ long long clock_now() {
  long long value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}

/// Writes the cycles of `requests` requests in a row, then those of a pair with its arrivals, then those until all have landed.
__global__ void requests_kernel(const __grid_constant__ CUtensorMap map, int rows, int bytes, int requests, long long* cycles) {
  extern __shared__ __align__(1024) unsigned char landed[];
  __shared__ std::uint64_t barriers[most_requests + 2];
  if (threadIdx.x != 0) return;
  const std::uint32_t full = device::shared_address(barriers), tiles = device::shared_address(landed);
  tilescope::start_barriers(full, requests + 2);
  for (int i = 0; i < requests; ++i) device::barrier_arrive_expecting(full + i * 8, bytes);
  const long long start = clock_now();
#pragma unroll 1
  for (int i = 0; i < requests; ++i) device::load_box(tiles + i * bytes, &map, full + i * 8, i * rows, 0);
  const long long requested = clock_now();
  for (int i = 0; i < requests; ++i) device::barrier_wait(full + i * 8, 0);
  const long long all = clock_now();
  // The queue of requests is empty by now, and the lines are in the L2.
  const std::uint32_t pair = full + requests * 8;
  const long long before = clock_now();
  device::barrier_arrive_expecting(pair, bytes);
  device::load_box(tiles, &map, pair, 0, 0);
  device::barrier_arrive_expecting(pair + 8, bytes);
  device::load_box(tiles + bytes, &map, pair + 8, rows, 0);
  const long long after = clock_now();
  device::barrier_wait(pair, 0);
  device::barrier_wait(pair + 8, 0);
  const long long both = clock_now();
  cycles[0] = requested - start, cycles[1] = after - before, cycles[2] = all - start, cycles[3] = both - before;
}

}  // namespace

int main() {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return std::puts("no GPU"), 1;
  std::printf("%s\n", properties.name);
  unsigned char* data = nullptr;
  long long* cycles = nullptr;
  cudaMalloc(&data, std::size_t{rows_of_data} * 256);
  cudaMemset(data, 0, std::size_t{rows_of_data} * 256);
  cudaMallocManaged(&cycles, 4 * sizeof(long long));
  std::puts("panels  rows   bytes   in a row   a pair with arrivals   six landed   the pair landed");
  for (int panels : {1, 2})
    for (int rows : {64, 128}) {
      const int bytes = rows * panels * 128;
      const int count = std::min(most_requests, 220 * 1024 / bytes);  // as shared memory has room
      const CUtensorMap map = tilescope::map_of_rows(data, rows_of_data, rows, panels);
      const int shared = count * bytes;
      cudaFuncSetAttribute(requests_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
      std::array<std::vector<long long>, 4> found;
      for (int run = 0; run < 52; ++run) {
        requests_kernel<<<1, 32, shared>>>(map, rows, bytes, count, cycles);
        if (const cudaError_t code = cudaDeviceSynchronize(); code != cudaSuccess) return std::puts(cudaGetErrorString(code)), 1;
        for (std::size_t i = 0; i < 4 && run > 0; ++i) found[i].push_back(cycles[i]);  // the first launch fetches code and lines
      }
      std::printf("%6d %5d %7d %10.0f %22.0f %12.0f %17.0f\n", panels, rows, bytes, median_of(found[0]) / count,
                  median_of(found[1]), median_of(found[2]), median_of(found[3]));
    }
  return 0;
}
