// Adds a known number of bytes to global memory in five ways, and prints how many bytes a second one SM and all SMs add.
//
// Usage: additions [KIND]     with a kind, runs only its kernel, once, for a profiler (kernels/lab/additions.py)
//
// A block adds rounds of 8192 floats to a region of its own, so blocks never meet. In total all regions fit in the L2.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int threads = 256, round_floats = 8192, rounds = 64, round_bytes = round_floats * 4;

enum Kind { scalar, vector_2, vector_4, vector_4_rows, bulk, scalar_atom };
constexpr const char* names[] = {"red.f32", "red.v2.f32", "red.v4.f32", "red.v4.f32, 8 rows of 64 B", "cp.reduce.async.bulk, 4 KiB",
                                 "atom.f32"};
constexpr int kinds = 6;

template <Kind kind>
__global__ __launch_bounds__(threads) void add_kernel(float* memory, float* seen) {
  float* const own = memory + static_cast<std::int64_t>(blockIdx.x) * round_floats;
  __shared__ __align__(128) float values[kind == bulk ? round_floats : 1];
  if constexpr (kind == bulk) {
    for (int i = threadIdx.x; i < round_floats; i += threads) values[i] = 1.f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
  }
  float sum = 0.f;
  for (int round = 0; round < rounds; ++round) {
    if constexpr (kind == scalar)
#pragma unroll
      for (int i = 0; i < round_floats / threads; ++i)
        asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(own + i * threads + threadIdx.x), "f"(1.f) : "memory");
    if constexpr (kind == scalar_atom)
#pragma unroll
      for (int i = 0; i < round_floats / threads; ++i) {
        float old;
        asm volatile("atom.relaxed.gpu.global.add.f32 %0, [%1], %2;"
                     : "=f"(old)
                     : "l"(own + i * threads + threadIdx.x), "f"(1.f)
                     : "memory");
        sum += old;
      }
    if constexpr (kind == vector_2)
#pragma unroll
      for (int i = 0; i < round_floats / threads / 2; ++i)
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %1};" ::"l"(own + (i * threads + threadIdx.x) * 2), "f"(1.f)
                     : "memory");
    if constexpr (kind == vector_4)
#pragma unroll
      for (int i = 0; i < round_floats / threads / 4; ++i)
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(own + (i * threads + threadIdx.x) * 4),
                     "f"(1.f)
                     : "memory");
    if constexpr (kind == vector_4_rows) {
      // As the backward kernels do at d = 128: a lane has 16 bytes of one of 8 rows of 512 bytes, four lanes a row.
      const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(own + (warp * 8 + lane / 4) * 128 + i * 16 +
                                                                                       (lane & 3) * 4),
                     "f"(1.f)
                     : "memory");
    }
    if constexpr (kind == bulk) {
      if (threadIdx.x < 8) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(own + threadIdx.x * 1024),
                     "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(values + threadIdx.x * 1024))), "r"(4096)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
    }
  }
  if constexpr (kind == bulk)
    if (threadIdx.x < 8) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  if (kind == scalar_atom && sum < 0.f) *seen = sum;
}

void run(int kind, int blocks, float* memory) {
  float* const seen = memory;
  switch (kind) {
    case scalar:
      add_kernel<scalar><<<blocks, threads>>>(memory, seen);
      break;
    case vector_2:
      add_kernel<vector_2><<<blocks, threads>>>(memory, seen);
      break;
    case vector_4:
      add_kernel<vector_4><<<blocks, threads>>>(memory, seen);
      break;
    case vector_4_rows:
      add_kernel<vector_4_rows><<<blocks, threads>>>(memory, seen);
      break;
    case bulk:
      add_kernel<bulk><<<blocks, threads>>>(memory, seen);
      break;
    default:
      add_kernel<scalar_atom><<<blocks, threads>>>(memory, seen);
      break;
  }
}

std::vector<float> read(const float* memory, int blocks) {
  std::vector<float> sums(static_cast<std::size_t>(blocks) * round_floats);
  cudaMemcpy(sums.data(), memory, sums.size() * 4, cudaMemcpyDeviceToHost);
  return sums;
}

double gigabytes_a_second(int kind, int blocks, float* memory) {
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  float best = 1e9f;
  for (int i = 0; i < 7; ++i) {
    cudaEventRecord(start);
    run(kind, blocks, memory);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0.f;
    cudaEventElapsedTime(&ms, start, end);
    if (i > 1 && ms < best) best = ms;
  }
  return static_cast<double>(blocks) * rounds * round_bytes / best / 1e6;
}

}  // namespace

int main(int count, char** arguments) {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
    std::fprintf(stderr, "additions needs an NVIDIA GPU of compute capability 9.0: none was found\n");
    return 1;
  }
  const int blocks = device.multiProcessorCount * 4;
  float* memory = nullptr;
  cudaMalloc(&memory, static_cast<std::size_t>(blocks) * round_bytes);
  cudaMemset(memory, 0, static_cast<std::size_t>(blocks) * round_bytes);
  if (count > 1) {
    for (int kind = 0; kind < kinds; ++kind)
      if (std::strcmp(names[kind], arguments[1]) == 0) run(kind, blocks, memory);
    const std::vector<float> sums = read(memory, blocks);
    for (const float sum : sums)
      if (sum != rounds) {
        std::fprintf(stderr, "an element got %g instead of %d\n", sum, rounds);
        return 1;
      }
    std::printf("%lld\n", static_cast<long long>(blocks) * rounds * round_bytes);
    return 0;
  }
  std::printf("%s, %d SMs: additions to memory in the L2, GB/s\n%-30s %8s %8s\n", device.name, device.multiProcessorCount, "kind",
              "one SM", "all SMs");
  for (int kind = 0; kind < kinds; ++kind)
    std::printf("%-30s %8.1f %8.0f\n", names[kind], gigabytes_a_second(kind, 1, memory), gigabytes_a_second(kind, blocks, memory));
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
