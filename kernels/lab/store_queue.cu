// When the warps of an SM go on after a store: sm.store_queue_bytes of assets/gpus/.
//
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90,code=sm_90 -o store_queue kernels/lab/store_queue.cu && ./store_queue
//
// One block is alone on the GPU. Behind a barrier, with nothing under way, each of its warps stores so many times 512 bytes (16 a
// lane) to lines of its own that the L2 has. Then it reads the clock, one word of shared memory, and one word that the L2 has.
// Prints, for all warps together: the bytes; the cycles from the first store until the last warp has issued its last; from there,
// until the word of shared memory is there, and until the word of the L2 is, each of the slowest warp. Median of 101. If a warp had
// to wait until its bytes have left, the first would be bytes / sm.store_bytes_per_cycle.
#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "kernels/lab/cold_start.cuh"

constexpr int repeats = 101, most_warps = 16;
constexpr long long quiet_cycles = 4000;

/// Reads the cycle counter once `value` is there: it is 0 in all lanes, but the compiler does not know.
__device__ __forceinline__ long long counter_after(int value) {
  long long now;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p trap; mov.u64 %0, %%clock64; }" : "=l"(now) : "r"(value) : "memory");
  return now;
}

template <int stores>
__global__ void __launch_bounds__(32 * most_warps, 1) run(uint4* to, const int* from, long long* times) {
  __shared__ volatile int word[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  uint4* const own = to + (warp * stores) * 32 + lane;
  word[lane] = 0;
  __syncthreads();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const long long start = cycle_counter(); cycle_counter() - start < quiet_cycles;) {}
    __syncthreads();
    const unsigned bits = repeat;
    const long long begin = cycle_counter();
#pragma unroll
    for (int i = 0; i < stores; ++i)
      asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(own + i * 32), "r"(bits) : "memory");
    const long long issued = cycle_counter();
    const long long shared = counter_after(word[lane]);
    int l2;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(l2) : "l"(from + (repeat % 8) * 4096 + warp * 64) : "memory");
    const long long loaded = counter_after(l2);
    if (lane == 0) {
      long long* const mine = times + (repeat * warps + warp) * 4;
      mine[0] = begin, mine[1] = issued, mine[2] = shared, mine[3] = loaded;
    }
  }
}

template <int stores>
void measure(int warps, uint4* to, const int* from, long long* times) {
  for (int i = 0; i < 2; ++i) run<stores><<<1, 32 * warps>>>(to, from, times);
  cudaDeviceSynchronize();
  std::array<std::vector<long long>, 3> found;
  for (int repeat = 1; repeat < repeats; ++repeat) {
    const long long* const own = times + repeat * warps * 4;
    long long begin = own[0], issued = 0, shared = 0, loaded = 0;
    for (int w = 0; w < warps; ++w) {
      begin = std::min(begin, own[w * 4]);
      issued = std::max(issued, own[w * 4 + 1]);
      shared = std::max(shared, own[w * 4 + 2] - own[w * 4 + 1]);
      loaded = std::max(loaded, own[w * 4 + 3] - own[w * 4 + 2]);
    }
    found[0].push_back(issued - begin), found[1].push_back(shared), found[2].push_back(loaded);
  }
  std::printf("%2d warps, %2d stores each, %6d bytes:", warps, stores, warps * stores * 512);
  for (std::vector<long long>& each : found) {
    std::ranges::nth_element(each, each.begin() + each.size() / 2);
    std::printf(" %5lld", each[each.size() / 2]);
  }
  std::printf(" cycles\n");
}

int main() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return std::fprintf(stderr, "there is no GPU\n"), 1;
  uint4* to;
  int* from;
  long long* times;
  cudaMalloc(&to, 1 << 20);
  cudaMalloc(&from, 1 << 20);
  cudaMemset(from, 0, 1 << 20);
  cudaMallocManaged(&times, repeats * most_warps * 4 * sizeof(long long));
  std::printf("# kernels/lab/store_queue.cu on %s: cycles to issue, to read shared memory, to read the L2\n", properties.name);
  for (const int warps : {1, 2, 4, 8, 16}) {
    measure<1>(warps, to, from, times);
    measure<2>(warps, to, from, times);
    measure<4>(warps, to, from, times);
    measure<8>(warps, to, from, times);
    measure<16>(warps, to, from, times);
    measure<32>(warps, to, from, times);
  }
  return cudaGetLastError() != cudaSuccess;
}
