// Cycles that a score costs a warp through a call of one, two or four sines, through a division, and through both, by warps a
// scheduler. The flex kernels make such calls one after another, and a warp waits in each: the model takes the longer of these
// waits and of the instructions. A division of floats has a branch for numbers out of range, so scores do not overlap in it either.
//
//   nvcc -std=c++20 -O3 -I. -arch=sm_90 -o call_latency kernels/lab/call_latency.cu && ./call_latency
#include <cstdio>

#include "kernels/flex/sines.cuh"

using namespace tilescope::device;

constexpr int scores = 32, rounds = 50, most_warps = 4, sub_partitions = 4;

template <int count>
__device__ float cosines(float position, float frequency) {
  if constexpr (count == 0) return position * frequency;
  if constexpr (count == 1) return expr_cos(position * frequency);
  if constexpr (count == 2) {
    const float2 c = expr_cosines(position * frequency, position * (0.5f * frequency));
    return c.x + c.y;
  }
  const float4 c = expr_cosines(position * frequency, position * (0.5f * frequency), position * (0.3f * frequency),
                                position * (0.1f * frequency));
  return c.x + c.y + c.z + c.w;
}

template <int count, bool divides>
__device__ float changed(float score, float position, float frequency, float divisor) {
  return score + (divides ? cosines<count>(position, frequency) / divisor : cosines<count>(position, frequency));
}

template <int count, bool divides>
__global__ void change(float* out, long long* cycles, float first, float frequency, float divisor) {
  float s[scores] = {};
  long long start = 0;
  for (int round = -1; round < rounds; ++round) {  // one round fills the instruction cache
    if (round == 0) {
      __syncthreads();
      start = clock64();
    }
#pragma unroll
    for (int i = 0; i < scores; ++i) s[i] = changed<count, divides>(s[i], first + i, frequency, divisor);
    first += 1.f;
  }
  const long long end = clock64();
  if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
  for (int i = 0; i < scores; ++i) out[threadIdx.x * scores + i] = s[i];
}

template <int count, bool divides = false>
void measure() {
  float* out;
  long long* cycles;
  cudaMalloc(&out, sizeof(float) * scores * 32 * most_warps * sub_partitions);
  cudaMallocManaged(&cycles, sizeof(long long) * most_warps * sub_partitions);
  printf("%7d%s", count, divides ? "/" : " ");
  for (int warps = 1; warps <= most_warps; ++warps) {
    change<count, divides><<<1, 32 * sub_partitions * warps>>>(out, cycles, 3.f, 0.01f, 8.1f);
    cudaDeviceSynchronize();
    printf("  %8.2f", static_cast<double>(cycles[0]) / (rounds * scores));
  }
  printf("\n");
  cudaFree(out);
  cudaFree(cycles);
}

int main() {
  printf("# cycles of a warp for a score, with 1, 2, 3 and 4 warps a scheduler\n# sines; /: and a division\n");
  measure<0>();
  measure<1>();
  measure<2>();
  measure<4>();
  measure<0, true>();
  measure<1, true>();
  measure<2, true>();
  measure<4, true>();
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
