// Measures cold instruction fetches: straight-line FFMAs, run twice.
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/calibrate/code.h"
#include "kernels/measure/timing.h"

namespace tilescope::microbench {

namespace {

/// Runs dependent FFMAs. About half of a kernel's instructions wait for the one before; meanwhile the fetch of later code proceeds.
template <int kib>
__global__ void code_kernel(float factor, float addend, std::int64_t* cycles, float* out) {
  constexpr int instructions = kib * 1024 / 16;
  float x = 1.f;
  std::int64_t first = 0, second = 0, at = cycle_counter();
#pragma unroll 1
  for (int turn = 0; turn < 2; ++turn) {
#pragma unroll
    for (int i = 0; i < instructions; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(factor), "f"(addend));
    __syncthreads();
    const std::int64_t now = cycle_counter();
    first = second;
    second = now - at;
    at = now;
  }
  if (threadIdx.x == 0) {
    cycles[blockIdx.x * 2] = first;
    cycles[blockIdx.x * 2 + 1] = second;
  }
  if (x == 12345.f) *out = x;
}

/// Returns the slowest block's first time minus the slowest block's second time.
template <int kib>
Result<double> first_beyond_second(const DeviceInfo& device, const DeviceMemory& scratch, int repeats) {
  auto cycles = DeviceArray<std::int64_t>::make(std::int64_t{device.sm_count} * 2);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<float>::make(1);
  if (!out) return out.error();
  bool flushed = true;
  return repeated(
      repeats, "measuring the way of machine code",
      [&] {
        flushed = static_cast<bool>(launch(plan_flush(scratch), nullptr));
        code_kernel<kib><<<device.sm_count, 128>>>(1.f, 0.f, cycles->data(), out->data());
      },
      [&]() -> Result<double> {
        if (!flushed) return Error{"the L2 could not be flushed", Error::Kind::machine_lacks};
        const auto read = cycles->host();
        if (!read) return read.error();
        std::int64_t first = 0, second = 0;
        for (std::size_t i = 0; i < read->size(); i += 2) {
          first = std::max(first, (*read)[i]);
          second = std::max(second, (*read)[i + 1]);
        }
        return static_cast<double>(first - second);
      });
}

}  // namespace

Result<FetchCycles> fetch_cycles(const DeviceInfo& device, int repeats) {
  const Result<DeviceMemory> scratch = flush_scratch(device);
  if (!scratch) return scratch.error();
  const Result<double> small = first_beyond_second<4>(device, *scratch, repeats),
                       medium = first_beyond_second<16>(device, *scratch, repeats),
                       large = first_beyond_second<64>(device, *scratch, repeats);
  for (const Result<double>* each : {&small, &medium, &large})
    if (!*each) return each->error();
  return FetchCycles{*small, *medium, *large, median({*small, *medium, *large})};
}

}  // namespace tilescope::microbench
