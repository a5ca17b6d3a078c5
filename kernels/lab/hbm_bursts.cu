// How long a short burst of reads from HBM takes: each block asks for all its bytes at once, as the first tiles of a kernel do,
// from a flushed L2.
//
//   nvcc -std=c++20 -O3 -I. -arch=sm_90a -o hbm_bursts kernels/lab/hbm_bursts.cu && ./hbm_bursts
//
// Prints, for each number of blocks and of bytes a block: cycles from the first start of a block to the last landing, from the
// start of a block to its own landing on average, and the rate that the slope from the row before shows. `whole` reads adjacent
// bytes; `apart` leaves as many bytes out between blocks as it reads.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/lab/cold_start.cuh"

constexpr int chunk_bytes = 8192, repeats = 31;

/// One thread asks for `chunks` boxes of chunk_bytes and waits for them.
__global__ __launch_bounds__(128) void burst(const char* from, int chunks, long long apart, long long* stamps) {
  extern __shared__ __align__(128) char shared[];
  __shared__ __align__(8) std::uint64_t barrier;
  const auto address = [](const void* p) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(p)); };
  if (threadIdx.x != 0) return;
  const long long start = cycle_counter();
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(&barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(chunks * chunk_bytes) : "memory");
  const char* const own = from + blockIdx.x * apart;
  for (int i = 0; i < chunks; ++i)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(shared) +
                                                                                                                 i * chunk_bytes),
                 "l"(own + static_cast<long long>(i) * chunk_bytes), "r"(chunk_bytes), "r"(address(&barrier))
                 : "memory");
  asm volatile(
      "{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0; @done bra over; bra again; over: }" ::"r"(
          address(&barrier))
      : "memory");
  const long long end = cycle_counter();
  stamps[2 * blockIdx.x] = start;
  stamps[2 * blockIdx.x + 1] = end;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int main() {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  std::printf("%s\n", properties.name);
  FlushScratch scratch;
  scratch.allocate(properties);
  const int most_chunks = 24, most_blocks = properties.multiProcessorCount;
  char* memory = nullptr;
  long long* stamps = nullptr;
  cudaMalloc(&memory, 2ll * most_blocks * most_chunks * chunk_bytes);
  cudaMemset(memory, 1, 2ll * most_blocks * most_chunks * chunk_bytes);
  cudaMalloc(&stamps, sizeof(long long) * 2 * most_blocks);
  cudaFuncSetAttribute(burst, cudaFuncAttributeMaxDynamicSharedMemorySize, most_chunks * chunk_bytes);
  cudaEvent_t before{}, after{};
  cudaEventCreate(&before), cudaEventCreate(&after);
  for (const bool cold : {true, false})
    for (const bool is_apart : {false, true})
      for (const int blocks : {1, 33, 66, 108, 132}) {
        double last_cycles = 0, last_bytes = 0;
        for (const int chunks : {1, 2, 4, 6, 8, 12, 18, 24}) {
          std::vector<double> own, event_ns, longest;
          for (int repeat = 0; repeat < repeats; ++repeat) {
            if (cold) scratch.flush();
            cudaEventRecord(before);
            burst<<<blocks, 128, most_chunks * chunk_bytes>>>(
                memory, chunks, static_cast<long long>(chunks) * chunk_bytes * (is_apart ? 2 : 1), stamps);
            cudaEventRecord(after);
            cudaEventSynchronize(after);
            std::vector<long long> host(2 * blocks);
            cudaMemcpy(host.data(), stamps, sizeof(long long) * host.size(), cudaMemcpyDeviceToHost);
            double sum = 0, most = 0;
            for (int b = 0; b < blocks; ++b) {
              const auto cycles = static_cast<double>(host[2 * b + 1] - host[2 * b]);
              sum += cycles, most = std::max(most, cycles);
            }
            float ms = 0;
            cudaEventElapsedTime(&ms, before, after);
            own.push_back(sum / blocks), longest.push_back(most), event_ns.push_back(ms * 1e6);
          }
          const double cycles = median(longest), bytes = static_cast<double>(blocks) * chunks * chunk_bytes;
          std::printf("%s %s  %3d blocks  %3d KiB each  %8.0f KiB  a block %6.0f, the longest %6.0f cycles, events %6.0f ns",
                      cold ? "cold" : "warm", is_apart ? "apart" : "whole", blocks, chunks * chunk_bytes / 1024, bytes / 1024,
                      median(own), cycles, median(event_ns));
          if (last_bytes > 0) std::printf("  %6.0f B/cycle", (bytes - last_bytes) / (cycles - last_cycles));
          std::printf("\n");
          last_cycles = cycles, last_bytes = bytes;
        }
      }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
