// What kernels of the L2 lab share: one block an SM, loads that the L1 does not keep, their cycles.
#pragma once

#include <cstdint>

#include "kernels/calibrate/bench_timer.cuh"

namespace tilescope {

inline constexpr int alone_bytes = 200 << 10;  // so much shared memory that an SM has one block
inline constexpr std::int64_t line_bytes = 128;

__device__ __forceinline__ std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

__device__ __forceinline__ std::uint32_t loaded(const char* from) {
  std::uint32_t value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// Cycles of a load into `at`, which waits for the load into it before: all that is loaded is even.
__device__ __forceinline__ std::int64_t cycles_of_load(const char* from, std::uint32_t& at, volatile std::uint32_t& arrived) {
  const std::int64_t start = microbench::cycle_counter();
  at = loaded(from + (at & 1));
  arrived = at;  // waits for the load, so that the clock is read after it
  return microbench::cycle_counter() - start;
}

}  // namespace tilescope
