// Measures launches, block starts, barriers, and the clock that the SMs keep under load.
#include "kernels/calibrate/launching.h"

#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/common/tensor_core.cuh"
#include "kernels/measure/clock_gauge.h"

namespace tilescope::microbench {

namespace {

/// Spins for `cycles` cycles.
__global__ void lasting_kernel(int cycles) {
  const std::int64_t start = cycle_counter();
  while (cycle_counter() - start < cycles) {}
}

/// Records when and where each block started and ended, by the cycle counter of its SM.
__global__ void stamp_kernel(std::int64_t* stamps, std::uint32_t* sms, int work) {
  extern __shared__ char shared[];
  const std::int64_t start = cycle_counter();
  std::int64_t now = start;
  while (now - start < work) now = cycle_counter();
  if (threadIdx.x == 0) {
    stamps[blockIdx.x * 2] = start;
    stamps[blockIdx.x * 2 + 1] = cycle_counter();
    sms[blockIdx.x] = sm_number();
  }
}

__global__ void barrier_kernel(int rounds, std::int64_t* cycles) {
  __syncthreads();
  const std::int64_t start = cycle_counter();
#pragma unroll 4
  for (int i = 0; i < rounds; ++i) __syncthreads();
  if (threadIdx.x == 0) cycles[0] = cycle_counter() - start;
}

/// Runs products and exponentials on random numbers, a mix that draws as much power as attention.
__global__ __launch_bounds__(256) void load_kernel(int rounds, std::uint32_t seed, float* out, std::int64_t* stamps) {
  std::uint32_t state = seed ^ (blockIdx.x * 7919 + threadIdx.x * 104729 + 1);
  auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return state;
  };
  auto half_pair = [&] { return (random() & 0x83ff83ffu) | 0x38003800u; };
  std::uint32_t a[4][4], b[8][2];
  float acc[8][4] = {}, e[4];
  for (auto& row : a)
    for (auto& x : row) x = half_pair();
  for (auto& row : b)
    for (auto& x : row) x = half_pair();
  for (auto& x : e) x = -static_cast<float>(random() & 255) / 256;
  const std::int64_t start_ns = nanosecond_counter(), start = cycle_counter();
#pragma unroll 1
  for (int n = 0; n < rounds; ++n) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      device::mma<device::half_type>(acc[i % 8], a[i % 4], b[(i + i / 8) % 8][0], b[(i + i / 8) % 8][1], acc[i % 8]);
      if (i % 2 == 0) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(e[i / 2 % 4]));
    }
  }
  const std::int64_t end = cycle_counter(), end_ns = nanosecond_counter();
  float sum = 0;
  for (auto& row : acc)
    for (float x : row) sum += x;
  for (float x : e) sum += x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) {
    stamps[blockIdx.x * 4] = start, stamps[blockIdx.x * 4 + 1] = end;
    stamps[blockIdx.x * 4 + 2] = start_ns, stamps[blockIdx.x * 4 + 3] = end_ns;
  }
}

/// Calls the runtime directly, because the checks of launch() would be measured too.
void launch_empty(PlannedLaunch& empty, int blocks) {
  void* arguments[] = {empty.arguments.data()};
  cudaLaunchKernel(empty.function, dim3(static_cast<unsigned>(blocks)), dim3(128), arguments, 0, nullptr);
}

}  // namespace

Result<LaunchCosts> launch_costs(int many, int repeats) {
  LaunchCosts found;
  PlannedLaunch nothing = plan_empty();
  const Result<double> empty = event_ns(repeats, "measuring launches", [&] {
    for (int i = 0; i < many; ++i) launch_empty(nothing, 1);
  });
  if (!empty) return empty.error();
  // Each kernel lasts long enough for the next launch to be queued when it ends. One kernel of N cycles and one of 2 N share the
  // fixed cost, so 2 t(N) - t(2 N) is that cost.
  constexpr int cycles = 40000, ahead = 200000;
  const int few = std::max(2, many / 4);
  const auto lasting = [repeats](int n, int each) {
    return event_ns(
        n == 1 ? repeats : std::min(repeats, 5), "measuring launches",
        [n, each] {
          for (int i = 0; i < n; ++i) lasting_kernel<<<1, 32>>>(each);
        },
        [] { lasting_kernel<<<1, 32>>>(ahead); });
  };
  const Result<double> one = lasting(1, cycles), longer = lasting(1, 2 * cycles), all = lasting(few, cycles);
  for (const Result<double>* each : {&one, &longer, &all})
    if (!*each) return each->error();
  found.first_ns = 2 * *one - *longer;
  found.interval_ns = *empty / many;
  found.gap_ns = (*all - *one) / (few - 1) - (*longer - *one);
  return found;
}

Result<BlockCosts> block_costs(const DeviceInfo& device, int threads, int shared_bytes) {
  // Each SM runs several blocks, one at a time; the gap is the time from the end of one to the start of the next.
  constexpr int blocks_of_sm = 8, work = 4000;
  const int blocks = device.sm_count * blocks_of_sm;
  auto stamps = DeviceArray<std::int64_t>::make(std::int64_t{blocks} * 2);
  if (!stamps) return stamps.error();
  auto sms = DeviceArray<std::uint32_t>::make(blocks);
  if (!sms) return sms.error();
  cudaFuncSetAttribute(stamp_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  for (int i = 0; i < 2; ++i) stamp_kernel<<<blocks, threads, shared_bytes>>>(stamps->data(), sms->data(), work);
  if (Status ran = checked(cudaDeviceSynchronize(), "measuring the start of blocks"); !ran) return ran.error();
  const auto times = stamps->host();
  if (!times) return times.error();
  const auto where = sms->host();
  if (!where) return where.error();
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> of_sm(static_cast<std::size_t>(device.sm_count) + 64);
  for (std::size_t i = 0; i < where->size(); ++i) of_sm[(*where)[i]].emplace_back((*times)[2 * i], (*times)[2 * i + 1]);
  std::vector<double> gaps;
  for (auto& list : of_sm) {
    std::sort(list.begin(), list.end());
    for (std::size_t i = 1; i < list.size(); ++i)
      if (list[i].first > list[i - 1].second) gaps.push_back(static_cast<double>(list[i].first - list[i - 1].second));
  }
  return BlockCosts{median(gaps)};
}

Result<double> block_interval_ns(const DeviceInfo& device) {
  // Empty blocks, far more than fit at once: the difference of the two grids gives the cost of one block.
  constexpr int fewer = 32, more = 160;
  PlannedLaunch nothing = plan_empty();
  const auto blocks = [&](int each) {
    return event_ns(
        21, "measuring the start of blocks", [&] { launch_empty(nothing, device.sm_count * each); },
        [] { lasting_kernel<<<1, 32>>>(200000); });
  };
  const Result<double> few = blocks(fewer), many = blocks(more);
  if (!few) return few.error();
  if (!many) return many.error();
  return (*many - *few) / (static_cast<double>(device.sm_count) * (more - fewer));
}

Result<double> barrier_cycles(int threads) {
  constexpr int rounds = 1024;
  auto cycles = DeviceArray<std::int64_t>::make(1);
  if (!cycles) return cycles.error();
  return repeated(
      3, "measuring barriers", [&] { barrier_kernel<<<1, threads>>>(rounds, cycles->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return static_cast<double>((*read)[0]) / rounds;
      });
}

Result<LoadedClock> loaded_clock(const DeviceInfo& device, double seconds) {
  const int blocks = device.sm_count * 2;
  auto out = DeviceArray<float>::make(std::int64_t{blocks} * 256);
  if (!out) return out.error();
  auto stamps = DeviceArray<std::int64_t>::make(std::int64_t{blocks} * 4);
  if (!stamps) return stamps.error();
  constexpr int rounds = 20000;
  LoadedClock found;
  double spent = 0;
  while (spent < seconds) {
    load_kernel<<<blocks, 256>>>(rounds, 12345, out->data(), stamps->data());
    if (Status ran = checked(cudaDeviceSynchronize(), "loading the GPU"); !ran) return ran.error();
    const auto times = stamps->host();
    if (!times) return times.error();
    const double cycles = static_cast<double>((*times)[1] - (*times)[0]), ns = static_cast<double>((*times)[3] - (*times)[2]);
    if (ns <= 0) return Error{"the clock of the GPU stood still while it was measured", Error::Kind::machine_lacks};
    found.hz.push_back(cycles / ns * 1e9);
    found.flops_per_cycle = 32.0 * 4096 * rounds * 16 / cycles;  // 16 warps an SM
    spent += ns * 1e-9;
  }
  return found;
}

}  // namespace tilescope::microbench
