// Shared by the kernels of the L2 lab: one block an SM, loads past the L1, cycles of a load.
#pragma once

#include <cstdint>

#include "kernels/calibrate/bench_timer.cuh"

namespace tilescope {

inline constexpr int alone_bytes = 200 << 10;  // so much shared memory that an SM runs one block
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

/// Returns the cycles of a load into `at`. It depends on the previous load into `at`; all loaded values are even, so the address is
/// `from` itself.
__device__ __forceinline__ std::int64_t cycles_of_load(const char* from, std::uint32_t& at, volatile std::uint32_t& arrived) {
  const std::int64_t start = microbench::cycle_counter();
  at = loaded(from + (at & 1));
  arrived = at;  // forces the load to finish before the clock is read
  return microbench::cycle_counter() - start;
}

}  // namespace tilescope
