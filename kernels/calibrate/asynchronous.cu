// Measures mbarriers, named barriers and TMA boxes with the building blocks of the Hopper kernels.
//
//   tokens    two sides of a block pass a token to and fro, 256 times
//   boxes     one thread requests 1 or 6 boxes of 1 to 32 KiB, each with an mbarrier of its own, and waits for all
//   streams   one thread per block passes boxes through a ring, from rows of its own in the L2
//
// This file is compiled for sm_90a only, as all that includes hopper.cuh.
#include "kernels/calibrate/asynchronous.h"
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/common/hopper.cuh"
#include "kernels/common/hopper_tensors.h"

namespace tilescope::microbench {

namespace {

constexpr int passes = 256, side_of_groups = 128;

/// Passes a token through two mbarriers. `arrivals`: threads of a side that arrive.
__global__ void mbarrier_token_kernel(int arrivals, std::int64_t* cycles) {
  __shared__ std::uint64_t barriers[2];
  const std::uint32_t there = device::shared_address(&barriers[0]), back = device::shared_address(&barriers[1]);
  if (threadIdx.x == 0) device::barrier_start(there, arrivals), device::barrier_start(back, arrivals);
  __syncthreads();
  const int side_threads = static_cast<int>(blockDim.x) / 2, thread = static_cast<int>(threadIdx.x);
  const bool arrives = thread % side_threads < arrivals;
  const std::int64_t start = cycle_counter();
  for (int i = 0; i < passes; ++i) {
    if (thread < side_threads) {
      if (arrives) device::barrier_arrive(there);
      device::barrier_wait(back, i & 1);
    } else {
      device::barrier_wait(there, i & 1);
      if (arrives) device::barrier_arrive(back);
    }
  }
  if (thread == 0) cycles[0] = cycle_counter() - start;
}

__global__ void finished_wait_kernel(std::int64_t* cycles) {
  __shared__ std::uint64_t barrier;
  const std::uint32_t address = device::shared_address(&barrier);
  if (threadIdx.x == 0) device::barrier_start(address, 1), device::barrier_arrive(address);
  __syncthreads();
  const std::int64_t start = cycle_counter();
  for (int i = 0; i < passes; ++i) device::barrier_wait(address, 0);
  if (threadIdx.x == 0) cycles[0] = cycle_counter() - start;
}

__global__ void named_token_kernel(std::int64_t* cycles) {
  constexpr int there = 1, back = 2, both = 2 * side_of_groups;
  __syncthreads();
  const bool is_first = threadIdx.x < side_of_groups;
  const std::int64_t start = cycle_counter();
  if (!is_first) device::named_arrive(there, both);
  for (int i = 0; i < passes; ++i) {
    if (is_first) {
      device::named_sync(there, both);
      device::named_arrive(back, both);
    } else {
      device::named_sync(back, both);
      if (i + 1 < passes) device::named_arrive(there, both);
    }
  }
  if (threadIdx.x == 0) cycles[0] = cycle_counter() - start;
}

constexpr int most_boxes = 6, most_stages = 16, most_box_rows = 256;
constexpr int box_row_bytes = device::panel_row_bytes;

/// Writes three times, from the first request: all requested, first box landed, all landed.
__global__ void boxes_kernel(const __grid_constant__ CUtensorMap map, int rows, int boxes, int first_row, std::int64_t* cycles) {
  extern __shared__ __align__(1024) unsigned char landed_boxes[];
  __shared__ std::uint64_t barriers[most_boxes];
  if (threadIdx.x != 0) return;
  const std::uint32_t full = device::shared_address(barriers), tiles = device::shared_address(landed_boxes);
  for (int i = 0; i < boxes; ++i) device::barrier_start(full + i * 8, 1);
  device::barriers_ready();
  device::shared_writes_visible_to_async();
  for (int i = 0; i < boxes; ++i) device::barrier_arrive_expecting(full + i * 8, rows * box_row_bytes);
  const std::int64_t start = cycle_counter();
#pragma unroll 1
  for (int i = 0; i < boxes; ++i) device::load_box(tiles + i * rows * box_row_bytes, &map, full + i * 8, first_row + i * rows, 0);
  const std::int64_t requested = cycle_counter();
  device::barrier_wait(full, 0);
  const std::int64_t first = cycle_counter();
  for (int i = 1; i < boxes; ++i) device::barrier_wait(full + i * 8, 0);
  cycles[0] = requested - start, cycles[1] = first - start, cycles[2] = cycle_counter() - start;
}

/// Each block streams `count` boxes through a ring of `stages`, over and over from its own `span` rows.
__global__ void stream_kernel(const __grid_constant__ CUtensorMap map, int rows, int stages, int count, int span,
                              std::int64_t* cycles) {
  extern __shared__ __align__(1024) unsigned char landed_boxes[];
  __shared__ std::uint64_t barriers[most_stages];
  if (threadIdx.x != 0) return;
  const std::uint32_t full = device::shared_address(barriers), tiles = device::shared_address(landed_boxes);
  for (int i = 0; i < stages; ++i) device::barrier_start(full + i * 8, 1);
  device::barriers_ready();
  device::shared_writes_visible_to_async();
  const int base = static_cast<int>(blockIdx.x) * span;
  int stage = 0, parity = 1, row = 0;  // counted along: a remainder takes as long as a box
  const std::int64_t start = cycle_counter();
#pragma unroll 1
  for (int i = 0; i < count + stages; ++i) {
    if (i >= stages) device::barrier_wait(full + stage * 8, parity);
    if (i < count) {
      device::barrier_arrive_expecting(full + stage * 8, rows * box_row_bytes);
      device::load_box(tiles + stage * rows * box_row_bytes, &map, full + stage * 8, base + row, 0);
      row = row + rows < span ? row + rows : 0;
    }
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  cycles[blockIdx.x] = cycle_counter() - start;
}

/// Launches and returns the median of counter `word`.
template <class Launch>
Result<double> median_cycles(std::string_view what, const DeviceArray<std::int64_t>& cycles, int word, Launch launch) {
  constexpr int repeats = 7;
  return repeated(repeats, what, launch, [&]() -> Result<double> {
    const auto read = cycles.host();
    if (!read) return read.error();
    return static_cast<double>((*read)[static_cast<std::size_t>(word)]);
  });
}

Result<TokenCycles> token_cycles(const DeviceArray<std::int64_t>& cycles) {
  constexpr int warp_threads = 32;
  const auto timed = [&](auto launch) { return median_cycles("measuring mbarriers and named barriers", cycles, 0, launch); };
  const Result<double> warps = timed([&] { mbarrier_token_kernel<<<1, 2 * warp_threads>>>(1, cycles.data()); }),
                       groups = timed([&] { mbarrier_token_kernel<<<1, 2 * side_of_groups>>>(1, cycles.data()); }),
                       wait = timed([&] { finished_wait_kernel<<<1, side_of_groups>>>(cycles.data()); }),
                       named = timed([&] { named_token_kernel<<<1, 2 * side_of_groups>>>(cycles.data()); });
  for (const Result<double>* each : {&warps, &groups, &wait, &named})
    if (!*each) return each->error();
  return TokenCycles{*warps / passes, *groups / passes, *wait / passes, *named / passes};
}

/// Returns the descriptor of rows of 64 fp16 elements, as the Hopper kernels have it.
CUtensorMap map_of_rows(const DeviceArray<unsigned char>& data, int box_rows) {
  AttentionProblem problem;
  problem.head_dim = device::panel_elements;
  problem.dtype = DataType::fp16;
  return hopper_map(data.data(), 1, data.count() / box_row_bytes, problem, box_rows);
}

Result<std::vector<BoxCycles>> box_cycles(const DeviceArray<unsigned char>& data, const DeviceArray<std::int64_t>& cycles) {
  constexpr int shared_bytes = most_boxes * most_box_rows * box_row_bytes;
  if (Status set = checked(cudaFuncSetAttribute(boxes_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
                           "preparing TMA boxes");
      !set)
    return set.error();
  // The L2 has lost the first half of the data, which was filled first. Each cold launch reads rows of its own there.
  constexpr int between_fresh = 8192, first_fresh = 1 << 18;
  int fresh = first_fresh;
  std::vector<BoxCycles> found;
  for (int rows = 8; rows <= most_box_rows; rows *= 2) {
    const CUtensorMap map = map_of_rows(data, rows);
    const auto timed = [&](int boxes, int word, bool is_cold) {
      return median_cycles("measuring TMA boxes", cycles, word, [&] {
        boxes_kernel<<<1, 32, shared_bytes>>>(map, rows, boxes, is_cold ? fresh += between_fresh : 0, cycles.data());
      });
    };
    const Result<double> issue = timed(most_boxes, 0, false), one = timed(1, 1, false), all = timed(most_boxes, 2, false),
                         cold = timed(1, 1, true);
    for (const Result<double>* each : {&issue, &one, &all, &cold})
      if (!*each) return each->error();
    found.push_back({rows, *issue / most_boxes, *one, *all, *cold});
  }
  return found;
}

Result<std::vector<BoxStream>> box_streams(const DeviceInfo& device, const DeviceArray<unsigned char>& data) {
  constexpr int span = 1024, streamed_rows = 1 << 15, most_shared_bytes = 8 * 128 * box_row_bytes;
  if (Status set = checked(cudaFuncSetAttribute(stream_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared_bytes),
                           "preparing streams of TMA boxes");
      !set)
    return set.error();
  std::vector<BoxStream> found;
  for (BoxStream stream : {BoxStream{8, 16}, BoxStream{64, 16}, BoxStream{128, 8}, BoxStream{256, 4}}) {
    const CUtensorMap map = map_of_rows(data, stream.rows);
    const int count = streamed_rows / stream.rows;
    for (const int blocks : {1, device.sm_count}) {
      auto cycles = DeviceArray<std::int64_t>::make(blocks);
      if (!cycles) return cycles.error();
      const Result<double> rate = repeated(
          5, "measuring streams of TMA boxes",
          [&] {
            stream_kernel<<<blocks, 32, stream.stages * stream.rows * box_row_bytes>>>(map, stream.rows, stream.stages, count, span,
                                                                                       cycles->data());
          },
          [&]() -> Result<double> {
            const auto read = cycles->host();
            if (!read) return read.error();
            return static_cast<double>(count) * stream.rows * box_row_bytes / mean(*read);
          });
      if (!rate) return rate.error();
      (blocks == 1 ? stream.one_sm : stream.every_sm) = *rate;
    }
    found.push_back(stream);
  }
  return found;
}

}  // namespace

Result<std::optional<AsynchronousUnits>> asynchronous_units(const DeviceInfo& device) {
  if (device.compute_major != 9 || device.compute_minor != 0) return std::optional<AsynchronousUnits>();
  const auto cycles = DeviceArray<std::int64_t>::make(3);
  if (!cycles) return cycles.error();
  const auto data = DeviceArray<unsigned char>::make(4 * device.l2_bytes);
  if (!data) return data.error();
  Result<TokenCycles> tokens = token_cycles(*cycles);
  if (!tokens) return tokens.error();
  Result<std::vector<BoxCycles>> boxes = box_cycles(*data, *cycles);
  if (!boxes) return boxes.error();
  Result<std::vector<BoxStream>> streams = box_streams(device, *data);
  if (!streams) return streams.error();
  return std::optional(AsynchronousUnits{*tokens, std::move(*boxes), std::move(*streams)});
}

}  // namespace tilescope::microbench
