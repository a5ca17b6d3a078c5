// How much later is the slowest of several blocks that read a cold L2? A launch ends with it.
//
//   g++ -std=c++20 -O2 -I. -DFMT_HEADER_ONLY -c -o problem.o sim/core/attention_problem.cpp
//   nvcc -O3 -std=c++20 -I. -gencode=arch=compute_90a,code=sm_90a -o slowest_block kernels/lab/slowest_block.cu
//   kernels/common/hopper_plan.cu problem.o
//   ./slowest_block
//
// Each block reads up to 16 tiles of 8, 16 or 32 KiB, each when the one before has landed, at places that change from launch to
// launch. A tile is boxes of 8 KiB side by side. Of 101 launches, each after a flush of the L2: cycles of a block from the first
// request to the last landing, mean of the blocks and of the slowest one (means of the launches without the tenth with the slowest
// blocks, in which the driver's work shows); ns from the first block's start to the last one's; and cycles of the first tile, by
// part of the blocks.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <random>

#include "kernels/lab/boxes.cuh"

namespace {

namespace device = tilescope::device;

constexpr int box_rows = 64, box_bytes = box_rows * 128, places = 16384, most_blocks = 132, most_tiles = 16, most_together = 4;

struct Seen {
  long long cycles[most_tiles];  // from the request to the landing of each
  long long all, start_ns, end_ns;
};

__device__ __forceinline__ long long now_ns() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void chain_kernel(const __grid_constant__ CUtensorMap map, const int* place, int tiles, int together, Seen* seen) {
  extern __shared__ __align__(1024) unsigned char landed[];
  __shared__ std::uint64_t barrier;
  if (threadIdx.x != 0) return;
  Seen& own = seen[blockIdx.x];
  own.start_ns = now_ns();
  int at[most_tiles];
#pragma unroll
  for (int i = 0; i < most_tiles; ++i) at[i] = place[blockIdx.x * most_tiles + i];
  const std::uint32_t full = device::shared_address(&barrier), tile = device::shared_address(landed);
  tilescope::start_barriers(full, 1);
  device::prefetch_map(&map);
  long long begin = cycle_counter();
  while (cycle_counter() - begin < 4000) {}
  const long long start = cycle_counter();
#pragma unroll
  for (int i = 0; i < most_tiles; ++i) {
    if (i == tiles) break;
    begin = cycle_counter();
    device::barrier_arrive_expecting(full, box_bytes * together);
    for (int box = 0; box < together; ++box) device::load_box(tile + box * box_bytes, &map, full, (at[i] + box) * box_rows, 0);
    device::barrier_wait(full, i & 1);
    own.cycles[i] = cycle_counter() - begin;
  }
  own.all = cycle_counter() - start;
  own.end_ns = now_ns();
}

long long part_of(std::vector<long long>& values, double part) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

}  // namespace

int main() {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return std::puts("no GPU"), 1;
  std::printf("%s\n", properties.name);
  FlushScratch scratch;
  scratch.allocate(properties);
  void* data = nullptr;
  cudaMalloc(&data, std::size_t{places} * box_bytes);
  cudaMemset(data, 0, std::size_t{places} * box_bytes);
  const CUtensorMap map = tilescope::map_of_rows(data, std::int64_t{places} * box_rows, box_rows, 1);
  int* place = nullptr;
  Seen* seen = nullptr;
  cudaMallocManaged(&place, sizeof(int) * most_blocks * most_tiles);
  cudaMalloc(&seen, sizeof(Seen) * most_blocks);
  std::vector<Seen> read(most_blocks);
  std::mt19937 random(1);
  std::puts("KiB  tiles  blocks    mean  slowest  apart, ns   first tile: 10 %    50 %    90 %    99 %");
  cudaFuncSetAttribute(chain_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, box_bytes * most_together);
  for (const int together : {1, 2, most_together})
    for (const int tiles : {1, 4, most_tiles})
      for (const int blocks : {1, 2, 4, 8, 16, 33, 66, most_blocks}) {
        struct Launch {
          double slowest, mean, apart;
        };
        std::vector<Launch> launches;
        std::vector<long long> firsts;
        for (int run = 0; run <= 101; ++run) {
          for (int i = 0; i < most_blocks * most_tiles; ++i) place[i] = static_cast<int>(random() % (places / together)) * together;
          cudaDeviceSynchronize();
          scratch.flush();
          chain_kernel<<<blocks, 32, box_bytes * together>>>(map, place, tiles, together, seen);
          const cudaError_t code = cudaMemcpy(read.data(), seen, sizeof(Seen) * most_blocks, cudaMemcpyDeviceToHost);
          if (code != cudaSuccess) return std::puts(cudaGetErrorString(code)), 1;
          if (run == 0) continue;
          Launch& own = launches.emplace_back();
          long long first = read[0].start_ns, last = first;
          for (int b = 0; b < blocks; ++b) {
            const Seen& block = read[static_cast<std::size_t>(b)];
            own.mean += static_cast<double>(block.all) / blocks;
            own.slowest = std::max(own.slowest, static_cast<double>(block.all));
            first = std::min(first, block.start_ns);
            last = std::max(last, block.start_ns);
            firsts.push_back(block.cycles[0]);
          }
          own.apart = static_cast<double>(last - first);
        }
        std::ranges::sort(launches, {}, &Launch::slowest);
        launches.resize(launches.size() * 9 / 10);
        Launch sum{};
        for (const Launch& own : launches) sum = {sum.slowest + own.slowest, sum.mean + own.mean, sum.apart + own.apart};
        const auto count = static_cast<double>(launches.size());
        std::printf("%3d  %5d  %6d  %6.0f  %7.0f  %9.0f  %16lld", 8 * together, tiles, blocks, sum.mean / count,
                    sum.slowest / count, sum.apart / count, part_of(firsts, 0.1));
        for (const double part : {0.5, 0.9, 0.99}) std::printf("  %6lld", part_of(firsts, part));
        std::puts("");
      }
  return 0;
}
