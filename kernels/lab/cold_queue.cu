// When boxes land that one thread asks for one after the other, with their lines in HBM: does TMA fetch them side by side?
//
//   g++ -std=c++20 -O2 -I. -DFMT_HEADER_ONLY -c -o problem.o sim/core/attention_problem.cpp
//   nvcc -O3 -std=c++20 -I. -gencode=arch=compute_90a,code=sm_90a -o cold_queue kernels/lab/cold_queue.cu
//   kernels/common/hopper_plan.cu problem.o
//   ./cold_queue
//
// Up to 24 boxes of 8 KiB of one map, which is there before the first request if it is prefetched. They lie side by side by block
// (192 KiB each), or by turn: the first boxes of all blocks, then the second ones. Cycles from the first request to the landing of
// each, medians of 51 launches and of the blocks. Each launch follows a flush of the L2.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "kernels/lab/boxes.cuh"

namespace {

namespace device = tilescope::device;

constexpr int box_rows = 64, box_bytes = box_rows * 128, most_blocks = 132, boxes = 24,
              rows_of_data = most_blocks * boxes * box_rows;
constexpr long long head_start = 4000;  // cycles in which a prefetched map arrives

__global__ void queue_kernel(const __grid_constant__ CUtensorMap map, bool prefetches, bool by_turn, int asked, long long* cycles) {
  extern __shared__ __align__(1024) unsigned char landed[];
  __shared__ std::uint64_t barriers[boxes];
  if (threadIdx.x != 0) return;
  const std::uint32_t full = device::shared_address(barriers), tiles = device::shared_address(landed);
  tilescope::start_barriers(full, boxes);
  if (prefetches) device::prefetch_map(&map);
  const long long begin = cycle_counter();
  while (cycle_counter() - begin < head_start) {}
  const int place = static_cast<int>(by_turn ? blockIdx.x : blockIdx.x * boxes), step = static_cast<int>(by_turn ? gridDim.x : 1);
  const long long start = cycle_counter();
#pragma unroll 1
  for (int i = 0; i < asked; ++i) {
    device::barrier_arrive_expecting(full + i * 8, box_bytes);
    device::load_box(tiles + i * box_bytes, &map, full + i * 8, (place + i * step) * box_rows, 0);
  }
#pragma unroll 1
  for (int i = 0; i < asked; ++i) {
    device::barrier_wait(full + i * 8, 0);
    cycles[blockIdx.x * boxes + i] = cycle_counter() - start;
  }
}

}  // namespace

int main() {
  tilescope::ColdBoxes<boxes> cold(rows_of_data, most_blocks);
  const CUtensorMap map = tilescope::map_of_rows(cold.data(), rows_of_data, box_rows, 1);
  cudaFuncSetAttribute(queue_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, boxes * box_bytes);
  std::puts("blocks  map         boxes lie  landing of box 1 to 24");
  for (const bool by_turn : {false, true})
    for (const bool prefetches : {false, true})
      for (const int blocks : {1, 8, 33, most_blocks})
        for (const int asked : {1, 2, 4, 8, 16, 24}) {
          std::printf("%6d  %-10s  %-9s", blocks, prefetches ? "prefetched" : "not", by_turn ? "by turn" : "by block");
          const std::array<double, boxes> landing = cold.medians(blocks, [&](long long* cycles) {
            queue_kernel<<<blocks, 32, boxes * box_bytes>>>(map, prefetches, by_turn, asked, cycles);
          });
          for (int i = 0; i < asked; ++i) std::printf(" %6.0f", landing[static_cast<std::size_t>(i)]);
          std::puts("");
        }
  return 0;
}
