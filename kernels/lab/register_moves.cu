// What it costs a block that its groups exchange registers (setmaxnreg) before they begin.
//
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -o register_moves kernels/lab/register_moves.cu &&
//   ./register_moves
//
// A block has a producer group and two or three groups that compute, as the rungs of the ladder. Each warp reads the SM's clock at
// its start, behind a barrier of all, and behind setmaxnreg: the producer gives registers away, and the others wait until they have
// theirs. The time is that between two events around the kernel, median of 41, behind an empty kernel and while the host is early.
#include <algorithm>
#include <cstdio>

template <int groups, bool moves>
__global__ void __launch_bounds__(128 * (groups + 1), 1) run(long long* times) {
  constexpr int taken = groups == 2 ? 240 : 160, kept = groups == 2 ? 24 : 32;
  const long long start = clock64();
  __syncthreads();
  const long long together = clock64();
  if constexpr (moves) {
    if (threadIdx.x < 128)
      asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kept));
    else
      asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(taken));
  }
  const long long moved = clock64();
  if (threadIdx.x % 32 == 0) {
    long long* const own = times + (blockIdx.x * 16 + threadIdx.x / 32) * 3;
    own[0] = start, own[1] = together, own[2] = moved;
  }
}

long long* times;

__global__ void empty() {}

__global__ void wait(long long cycles) {
  for (const long long start = clock64(); clock64() - start < cycles;) {}
}

template <int groups, bool moves>
float between_events(int blocks) {
  constexpr int repeats = 41;
  cudaEvent_t before[repeats], after[repeats];
  for (int i = 0; i < repeats; ++i) cudaEventCreate(&before[i]), cudaEventCreate(&after[i]);
  wait<<<1, 1>>>(4'000'000);  // the host is ahead from here on
  for (int i = 0; i < repeats; ++i) {
    empty<<<1, 32>>>();
    cudaEventRecord(before[i]);
    run<groups, moves><<<blocks, 128 * (groups + 1)>>>(times);
    cudaEventRecord(after[i]);
  }
  cudaDeviceSynchronize();
  float found[repeats];
  for (int i = 0; i < repeats; ++i) cudaEventElapsedTime(&found[i], before[i], after[i]);
  std::nth_element(found, found + repeats / 2, found + repeats);
  return found[repeats / 2] * 1e6F;
}

template <int groups, bool moves>
void measure(const char* name, int blocks) {
  constexpr int warps = 4 * (groups + 1);
  for (int repeat = 0; repeat < 2; ++repeat) run<groups, moves><<<blocks, 32 * warps>>>(times);
  cudaDeviceSynchronize();
  double barrier = 0, producer = 0, consumers = 0, all = 0;
  for (int b = 0; b < blocks; ++b) {
    long long first = times[b * 48], together = 0, last_of[2] = {0, 0};
    for (int w = 0; w < warps; ++w) {
      const long long* const own = times + (b * 16 + w) * 3;
      first = std::min(first, own[0]), together = std::max(together, own[1]);
      last_of[w >= 4] = std::max(last_of[w >= 4], own[2]);
    }
    barrier += static_cast<double>(together - first) / blocks, producer += static_cast<double>(last_of[0] - together) / blocks;
    consumers += static_cast<double>(last_of[1] - together) / blocks, all += static_cast<double>(last_of[1] - first) / blocks;
  }
  std::printf(
      "%-22s %d groups, blocks %3d: to the barrier %6.1f cycles; from there, producer %6.1f, others %6.1f; all %6.1f; %5.0f ns\n",
      name, groups, blocks, barrier, producer, consumers, all, between_events<groups, moves>(blocks));
}

int main() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  const int sms = properties.multiProcessorCount;
  std::printf("# kernels/lab/register_moves.cu on %s\n", properties.name);
  cudaMallocManaged(&times, sizeof(long long) * static_cast<std::size_t>(sms) * 16 * 3);
  for (const int blocks : {1, sms}) {
    measure<2, false>("registers stay", blocks);
    measure<2, true>("registers move", blocks);
    measure<3, false>("registers stay", blocks);
    measure<3, true>("registers move", blocks);
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
