// Encodes the TMA descriptors and plans the launch. The driver's function is found at run time, so that no library is linked.
#include "kernels/common/hopper_plan.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/common/hopper_tensors.h"
#include "sim/programs/planes_together.h"

namespace tilescope {

namespace {

constexpr int panel_elements = 64;  // 128 bytes: the widest row that the 128-byte swizzle takes
constexpr int group_rows = 64;      // of Q and O: a consumer group loads and stores its own
constexpr std::int64_t element = 2;

using Encode = decltype(&cuTensorMapEncodeTiled);

/// Returns the driver's cuTensorMapEncodeTiled; null without a driver.
Encode encode_function() {
  static const Encode found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    constexpr unsigned version = 12000;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, version, cudaEnableDefault, &result) != cudaSuccess) {
      cudaGetLastError();
      return Encode{nullptr};
    }
    return reinterpret_cast<Encode>(function);
  }();
  return found;
}

int attribute(cudaDeviceAttr name) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, name, 0) != cudaSuccess) cudaGetLastError();
  return value;
}

/// Returns two zeroed counters. Each launch leaves them zero. Launches in flight at the same time must not share them: the next of
/// 64 pairs is used in turn.
unsigned* next_tickets() {
  constexpr int pairs = 64, pair_bytes = 128;
  static unsigned* const counters = [] {
    void* address = nullptr;
    if (cudaMalloc(&address, pairs * pair_bytes) == cudaSuccess && cudaMemset(address, 0, pairs * pair_bytes) == cudaSuccess)
      return static_cast<unsigned*>(address);
    cudaGetLastError();
    cudaFree(address);
    return static_cast<unsigned*>(nullptr);  // the launch then fails with an illegal address
  }();
  static std::atomic<unsigned> used = 0;
  return counters == nullptr ? nullptr : counters + used++ % pairs * (pair_bytes / sizeof(unsigned));
}

}  // namespace

CUtensorMap hopper_map(const void* address, std::int64_t planes, std::int64_t rows, const AttentionProblem& problem, int box_rows,
                       int box_panels) {
  CUtensorMap map{};
  const Encode encode = address == nullptr ? nullptr : encode_function();
  if (encode == nullptr) return map;
  const auto d = static_cast<cuuint64_t>(problem.head_dim), row_bytes = d * element;
  const cuuint64_t sizes[] = {panel_elements, static_cast<cuuint64_t>(rows), d / panel_elements, static_cast<cuuint64_t>(planes)};
  const cuuint64_t strides[] = {row_bytes, panel_elements * element, static_cast<cuuint64_t>(rows) * row_bytes};
  const cuuint32_t box[] = {panel_elements, static_cast<cuuint32_t>(box_rows),
                            box_panels > 0 ? static_cast<cuuint32_t>(box_panels) : static_cast<cuuint32_t>(d / panel_elements), 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  const auto type = problem.dtype == DataType::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  encode(&map, type, 4, const_cast<void*>(address), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
         CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

void set_hopper_tensors(device::HopperArguments& arguments, const AttentionProblem& problem, const DeviceTensors& tensors,
                        int block_kv, int box_panels) {
  const std::int64_t query_planes = problem.query_planes(), key_planes = problem.batch * problem.kv_heads;
  arguments.q = hopper_map(tensors.q, query_planes, problem.seq_q, problem, group_rows);
  arguments.o = hopper_map(tensors.o, query_planes, problem.seq_q, problem, group_rows);
  arguments.k = hopper_map(tensors.k, key_planes, problem.seq_kv, problem, block_kv, box_panels);
  arguments.v = hopper_map(tensors.v, key_planes, problem.seq_kv, problem, block_kv, box_panels);
  arguments.lse = tensors.lse;
  set_lengths_and_heads(arguments, problem);
  arguments.planes = static_cast<int>(query_planes);
  arguments.scale = static_cast<float>(problem.scale());
}

PlannedLaunch hopper_plan(const HopperLaunch& launch, const AttentionProblem& problem, const DeviceTensors& tensors) {
  device::HopperArguments arguments{};
  set_hopper_tensors(arguments, problem, tensors, launch.block_kv, launch.box_panels);
  const std::int64_t rows = std::int64_t{launch.block_q} * launch.cluster, tiles = (problem.seq_q + rows - 1) / rows;
  const double half_of_l2 = attribute(cudaDevAttrL2CacheSize) / 2.0;
  arguments.planes_together = static_cast<int>(planes_together_of_kernel(problem, tiles, half_of_l2));
  if (launch.grid == HopperGrid::tickets && tensors.q != nullptr) arguments.tickets = next_tickets();

  std::array<std::int64_t, 3> grid{tiles * problem.query_planes(), 1, 1};
  if (launch.grid == HopperGrid::tiles)
    grid = {tiles, problem.query_planes(), 1};
  else if (launch.grid != HopperGrid::grouped)
    grid[0] = std::min<std::int64_t>(grid[0], std::max(1, attribute(cudaDevAttrMultiProcessorCount) / launch.cluster));
  grid[0] *= launch.cluster;
  return planned("attention", launch.function, grid, launch.threads, launch.shared_bytes, arguments);
}

}  // namespace tilescope
