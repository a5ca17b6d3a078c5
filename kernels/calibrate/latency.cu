// Measures the latency of shared memory, L1, L2 (near and far) and HBM: one thread follows a chain of addresses.
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/calibrate/latency.h"
#include "kernels/calibrate/random_chain.h"
#include "kernels/common/tensor_core.cuh"
#include "kernels/measure/timing.h"

namespace tilescope::microbench {

namespace {

enum class Level { l1, l2 };

template <Level level>
__global__ void chase_kernel(const std::uint32_t* chain, std::uint32_t from, int warm, int hops, std::int64_t* cycles,
                             std::uint32_t* out) {
  if (threadIdx.x != 0) return;
  std::uint32_t at = from;
  auto next = [&](std::uint32_t place) {
    std::uint32_t value;
    if constexpr (level == Level::l1)
      asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(chain + place) : "memory");
    else
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(chain + place) : "memory");
    return value;
  };
  for (int i = 0; i < warm; ++i) at = next(at);
  const std::int64_t start = cycle_counter();
  for (int i = 0; i < hops; ++i) at = next(at);
  const std::int64_t end = cycle_counter();
  cycles[blockIdx.x] = end - start;
  out[blockIdx.x] = at;
}

__global__ void chase_shared_kernel(int hops, std::int64_t* cycles, std::uint32_t* out) {
  __shared__ std::uint32_t chain[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) chain[i] = (i + 33) % 256;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t at = 0;
  const std::int64_t start = cycle_counter();
  for (int i = 0; i < hops; ++i) at = static_cast<volatile std::uint32_t*>(chain)[at];
  cycles[0] = cycle_counter() - start;
  out[0] = at;
}

/// Measures each of `lines` lines from the SM of each block, with a chain of loads that stays in one line.
__global__ void line_latency_kernel(const std::uint32_t* data, int lines, int stride, int hops, float* cycles, std::uint32_t* sms,
                                    std::uint32_t* out) {
  if (threadIdx.x != 0) return;
  std::uint32_t at = 0;
  for (int line = 0; line < lines; ++line) {
    const std::uint32_t* const from = data + std::int64_t{line} * stride;
    std::int64_t start = 0;
    for (int i = 0; i <= hops; ++i) {
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(from + at) : "memory");
      if (i == 0) start = cycle_counter() + at;  // the first hop brings a copy into the near partition
    }
    cycles[blockIdx.x * lines + line] = static_cast<float>(cycle_counter() + at - start) / static_cast<float>(hops);
  }
  sms[blockIdx.x] = sm_number();
  out[blockIdx.x] = at;
}

constexpr int tile_bytes = 16 << 10, tile_threads = 128, tiles_of_a_run = 64;

/// Counts the cycles until a whole tile has arrived: first for new tiles, then for the same tiles again.
__global__ void tile_kernel(const char* tiles, std::int64_t* cycles) {
  __shared__ __align__(128) char shared[tile_bytes];
  const std::uint32_t to = device::shared_address(shared) + threadIdx.x * 16;
  for (int n = 0; n < 2 * tiles_of_a_run; ++n) {
    const char* const from = tiles + n % tiles_of_a_run * tile_bytes + threadIdx.x * 16;
    __syncthreads();
    const std::int64_t start = cycle_counter();
#pragma unroll
    for (int at = 0; at < tile_bytes; at += tile_threads * 16) device::copy_async(to + at, from + at);
    device::copy_async_commit();
    device::copy_async_wait<0>();
    __syncthreads();
    if (threadIdx.x == 0) cycles[n] = cycle_counter() - start;
  }
}

template <Level level>
Result<double> chase(std::int64_t bytes, int warm, int hops, bool always_new = false) {
  const std::vector<std::uint32_t> chain = random_chain(bytes / 128);
  auto memory = DeviceArray<std::uint32_t>::make(static_cast<std::int64_t>(chain.size()));
  if (!memory) return memory.error();
  if (Status set = memory->set(chain); !set) return set.error();
  auto cycles = DeviceArray<std::int64_t>::make(1);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<std::uint32_t>::make(1);
  if (!out) return out.error();
  std::uint32_t from = 0;
  return repeated(
      3, "measuring latency",
      [&] { chase_kernel<level><<<1, 32>>>(memory->data(), from, warm, hops, cycles->data(), out->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        if (always_new) {
          const auto reached = out->host();
          if (!reached) return reached.error();
          from = (*reached)[0];
        }
        return static_cast<double>((*read)[0]) / hops;
      });
}

}  // namespace

Result<double> l1_latency() {
  return chase<Level::l1>(8 << 10, 256, 1024);
}
Result<double> l2_latency() {
  return chase<Level::l2>(2 << 20, 16384, 8192);
}
Result<double> hbm_latency(const DeviceInfo& device) {
  // Each run continues where the last one stopped, in a chain of four times the L2's size, so every line is new.
  return chase<Level::l2>(device.l2_bytes * 4, 1024, 8192, true);
}

Result<TileLatency> tile_latency(const DeviceInfo& device) {
  auto data = DeviceArray<char>::make(std::int64_t{tiles_of_a_run} * tile_bytes);
  if (!data) return data.error();
  const Result<DeviceMemory> scratch = flush_scratch(device);
  if (!scratch) return scratch.error();
  auto cycles = DeviceArray<std::int64_t>::make(2 * tiles_of_a_run);
  if (!cycles) return cycles.error();
  Status flushed = Done{};
  std::vector<double> from_l2;
  const Result<double> from_hbm = repeated(
      5, "measuring how late the latest line of a tile comes",
      [&] {
        flushed = launch(plan_flush(*scratch), nullptr);
        tile_kernel<<<1, tile_threads>>>(data->data(), cycles->data());
      },
      [&]() -> Result<double> {
        if (!flushed) return flushed.error();
        const auto read = cycles->host();
        if (!read) return read.error();
        from_l2.push_back(median({read->begin() + tiles_of_a_run, read->end()}));
        return median({read->begin(), read->begin() + tiles_of_a_run});
      });
  if (!from_hbm) return from_hbm.error();
  return TileLatency{*from_hbm, median(from_l2)};
}

Result<double> shared_latency() {
  constexpr int hops = 1024;
  auto cycles = DeviceArray<std::int64_t>::make(1);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<std::uint32_t>::make(1);
  if (!out) return out.error();
  return repeated(
      3, "measuring the latency of shared memory", [&] { chase_shared_kernel<<<1, 32>>>(hops, cycles->data(), out->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return static_cast<double>((*read)[0]) / hops;
      });
}

Result<LineLatencies> line_latencies(const DeviceInfo& device) {
  LineLatencies found;
  found.lines = 256;
  auto data = DeviceArray<std::uint32_t>::make(std::int64_t{found.lines} * 1024);  // one line every 4 KiB
  if (!data) return data.error();
  auto cycles = DeviceArray<float>::make(std::int64_t{device.sm_count} * found.lines);
  if (!cycles) return cycles.error();
  auto sms = DeviceArray<std::uint32_t>::make(device.sm_count);
  if (!sms) return sms.error();
  auto out = DeviceArray<std::uint32_t>::make(device.sm_count);
  if (!out) return out.error();
  for (int i = 0; i < 2; ++i)
    line_latency_kernel<<<device.sm_count, 32>>>(data->data(), found.lines, 1024, 16, cycles->data(), sms->data(), out->data());
  if (Status ran = checked(cudaDeviceSynchronize(), "measuring the latency of L2 lines"); !ran) return ran.error();
  const auto times = cycles->host();
  if (!times) return times.error();
  const auto where = sms->host();
  if (!where) return where.error();
  found.sms.assign(where->begin(), where->end());
  found.cycles.assign(times->begin(), times->end());
  return found;
}

}  // namespace tilescope::microbench
