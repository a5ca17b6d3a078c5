// What the programs of this folder need that ask TMA for boxes of fp16 rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/common/hopper_attention.cuh"
#include "kernels/common/hopper_tensors.h"
#include "kernels/lab/cold_start.cuh"

namespace tilescope {

/// Starts `count` mbarriers of one arrival, from shared address `full` on, and shows them to the copy engine.
__device__ __forceinline__ void start_barriers(std::uint32_t full, int count) {
  for (int i = 0; i < count; ++i) device::barrier_start(full + i * 8, 1);
  device::barriers_ready();
}

/// Returns the map of `rows` rows of 64 elements a panel, in boxes of `box_rows` rows.
inline CUtensorMap map_of_rows(const void* data, std::int64_t rows, int box_rows, int panels) {
  AttentionProblem problem;
  problem.head_dim = 64 * panels;
  problem.dtype = DataType::fp16;
  return hopper_map(data, 1, rows, problem, box_rows, panels);
}

/// Returns the value in the middle; of an even number the upper one.
inline double median_of(std::vector<long long> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

/// The memory of a program that times `boxes` boxes in each block of a kernel, from a flushed L2.
template <int boxes>
class ColdBoxes {
 public:
  /// For `rows` rows of 128 bytes, and kernels of up to `most_blocks` blocks. Prints the GPU's name; ends the program without one.
  ColdBoxes(std::size_t rows, int most_blocks) : read_(static_cast<std::size_t>(most_blocks) * boxes) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) std::puts("no GPU"), std::exit(1);
    std::printf("%s\n", properties.name);
    scratch_.allocate(properties);
    cudaMalloc(&data_, rows * 128);
    cudaMemset(data_, 0, rows * 128);
    cudaMalloc(&cycles_, sizeof(long long) * read_.size());
  }

  const void* data() const { return data_; }

  /// Launches a kernel 52 times, each after a flush, with the place to which block b writes the cycles of box i: [b * boxes + i].
  /// Returns the medians of the blocks and of the launches but the first, which fetches the code. Ends the program on an error.
  template <class Launch>
  std::array<double, boxes> medians(int blocks, const Launch& launch) {
    std::array<std::vector<long long>, boxes> found;
    for (int run = 0; run < 52; ++run) {
      scratch_.flush();
      launch(cycles_);
      const cudaError_t code = cudaMemcpy(read_.data(), cycles_, sizeof(long long) * read_.size(), cudaMemcpyDeviceToHost);
      if (code != cudaSuccess) std::puts(cudaGetErrorString(code)), std::exit(1);
      for (std::size_t i = 0; i < boxes && run > 0; ++i) {
        std::vector<long long> of_blocks;
        for (int block = 0; block < blocks; ++block) of_blocks.push_back(read_[static_cast<std::size_t>(block) * boxes + i]);
        found[i].push_back(static_cast<long long>(median_of(of_blocks)));
      }
    }
    std::array<double, boxes> out;
    std::ranges::transform(found, out.begin(), median_of);
    return out;
  }

 private:
  FlushScratch scratch_;
  unsigned char* data_ = nullptr;
  long long* cycles_ = nullptr;
  std::vector<long long> read_;
};

}  // namespace tilescope
