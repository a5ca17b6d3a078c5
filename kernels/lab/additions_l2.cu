// Reads, writes or adds to a buffer several times, each time from other SMs, after the L2 was emptied. A profiler counts HBM bytes
// (kernels/lab/additions_l2.py): they show which buffers stay in the L2, and so whether an access leaves a copy on its own side.
//
// Usage: additions_l2 [MIB …]     runs every kind of access for every size
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int threads = 256, chunk_floats = 4 * threads, passes = 6;
constexpr std::int64_t flushed_bytes = std::int64_t{256} << 20;

enum Kind { read, write, red, bulk };

/// A block works on every gridDim.x-th chunk. The next pass shifts the blocks by an odd number of them, onto other SMs.
template <Kind kind>
__global__ __launch_bounds__(threads) void passes_kernel(float* memory, std::int64_t chunks, float* seen) {
  __shared__ __align__(128) float values[chunk_floats];
  for (int i = threadIdx.x; i < chunk_floats; i += threads) values[i] = 1.f;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float sum = 0.f;
  for (int pass = 0; pass < passes; ++pass)
    for (std::int64_t chunk = (blockIdx.x + pass * 37) % gridDim.x; chunk < chunks; chunk += gridDim.x) {
      float* const at = memory + chunk * chunk_floats + 4 * threadIdx.x;
      if constexpr (kind == read) {
        const float4 x = __ldcg(reinterpret_cast<const float4*>(at));
        sum += x.x + x.y + x.z + x.w;
      }
      if constexpr (kind == write) __stcg(reinterpret_cast<float4*>(at), make_float4(1.f, 1.f, 1.f, 1.f));
      if constexpr (kind == red)
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(at), "f"(1.f) : "memory");
      if constexpr (kind == bulk)
        if (threadIdx.x == 0) {
          asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(at),
                       "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(values))), "r"(4 * chunk_floats)
                       : "memory");
          asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
  if (kind == bulk && threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  if (sum < 0.f) *seen = sum;
}

__global__ void flush_kernel(const float4* memory, float* seen) {
  float sum = 0.f;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < flushed_bytes / 16; i += step) sum += memory[i].x;
  if (sum < 0.f) *seen = sum;
}

}  // namespace

int main(int count, char** arguments) {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
    std::fprintf(stderr, "additions_l2 needs an NVIDIA GPU of compute capability 9.0: none was found\n");
    return 1;
  }
  float *memory = nullptr, *other = nullptr;
  cudaMalloc(&memory, flushed_bytes);
  cudaMalloc(&other, flushed_bytes);
  cudaMemset(memory, 0, flushed_bytes);
  cudaMemset(other, 0, flushed_bytes);
  const int blocks = device.multiProcessorCount;
  for (int i = 1; i < count; ++i) {
    const std::int64_t chunks = (std::int64_t{std::atoi(arguments[i])} << 20) / (4 * chunk_floats);
    for (int kind = read; kind <= bulk; ++kind) {
      flush_kernel<<<4 * blocks, threads>>>(reinterpret_cast<const float4*>(other), memory);
      if (kind == read) passes_kernel<read><<<blocks, threads>>>(memory, chunks, other);
      if (kind == write) passes_kernel<write><<<blocks, threads>>>(memory, chunks, other);
      if (kind == red) passes_kernel<red><<<blocks, threads>>>(memory, chunks, other);
      if (kind == bulk) passes_kernel<bulk><<<blocks, threads>>>(memory, chunks, other);
    }
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "additions_l2: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
