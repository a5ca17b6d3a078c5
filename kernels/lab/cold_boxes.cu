// What the first box of a tensor map costs beyond a later one: TMA reads the map's 128 bytes once per SM.
//
//   g++ -std=c++20 -O2 -I. -DFMT_HEADER_ONLY -c -o problem.o sim/core/attention_problem.cpp
//   nvcc -O3 -std=c++20 -I. -gencode=arch=compute_90a,code=sm_90a -o cold_boxes kernels/lab/cold_boxes.cu
//   kernels/common/hopper_plan.cu problem.o
//   ./cold_boxes
//
// One thread of each block asks for a box of 8 KiB and waits for it, five times. Cycles of the SM, medians of 51 launches and of
// the blocks. Each launch follows a flush of the L2, so that the maps lie where the front end of the GPU puts them.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "kernels/lab/boxes.cuh"

namespace {

namespace device = tilescope::device;

constexpr int box_rows = 64, box_bytes = box_rows * 128, most_blocks = 132, rows_of_data = most_blocks * 2 * box_rows, boxes = 5;
constexpr long long head_start = 4000;  // cycles in which a prefetched map arrives

/// Box by box: a cold map and cold lines; the same map and other cold lines; lines that the L2 holds; another map, not read so
/// far; that map again.
__global__ void boxes_kernel(const __grid_constant__ CUtensorMap first, const __grid_constant__ CUtensorMap second, bool prefetches,
                             long long* cycles) {
  extern __shared__ __align__(1024) unsigned char landed[];
  __shared__ std::uint64_t barriers[boxes];
  if (threadIdx.x != 0) return;
  const std::uint32_t full = device::shared_address(barriers), tiles = device::shared_address(landed);
  tilescope::start_barriers(full, boxes);
  if (prefetches) device::prefetch_map(&first), device::prefetch_map(&second);
  const long long begin = cycle_counter();
  while (cycle_counter() - begin < head_start) {}
  const int row = static_cast<int>(blockIdx.x) * 2 * box_rows;
#pragma unroll 1
  for (int i = 0; i < boxes; ++i) {
    const CUtensorMap* map = i < 3 ? &first : &second;
    const long long start = cycle_counter();
    device::barrier_arrive_expecting(full + i * 8, box_bytes);
    device::load_box(tiles, map, full + i * 8, row + (i == 1 ? box_rows : 0), 0);
    device::barrier_wait(full + i * 8, 0);
    cycles[blockIdx.x * boxes + i] = cycle_counter() - start;
  }
}

}  // namespace

int main() {
  tilescope::ColdBoxes<boxes> cold(rows_of_data, most_blocks);
  const CUtensorMap first = tilescope::map_of_rows(cold.data(), rows_of_data, box_rows, 1), second = first;
  std::puts("blocks  maps        cold map, cold lines   known map, cold lines   known map, L2   other map, L2   known map, L2");
  for (bool prefetches : {false, true})
    for (int blocks : {1, 33, most_blocks}) {
      const auto found = cold.medians(
          blocks, [&](long long* cycles) { boxes_kernel<<<blocks, 32, box_bytes>>>(first, second, prefetches, cycles); });
      std::printf("%6d  %-10s %21.0f %23.0f %15.0f %15.0f %15.0f\n", blocks, prefetches ? "prefetched" : "not", found[0], found[1],
                  found[2], found[3], found[4]);
    }
  return 0;
}
