// What the programs of this folder need that ask TMA for boxes of fp16 rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/hopper_attention.cuh"
#include "kernels/common/hopper_tensors.h"

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

}  // namespace tilescope
