// Shared by the micro-benchmarks: device arrays, repeated launches, cycle and event timing, errors as sentences.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/device.h"
#include "kernels/device_error.h"

namespace tilescope::microbench {

inline Status checked(cudaError_t code, std::string_view doing) {
  if (code == cudaSuccess) return Done{};
  cudaGetLastError();
  return device_error({cudaGetErrorName(code), cudaGetErrorString(code)}, doing);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

template <class T>
double mean(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Returns the time from the first start to the last end; starts and ends alternate in the list.
inline double spanned(const std::vector<std::int64_t>& starts_and_ends) {
  std::int64_t first = starts_and_ends[0], last = starts_and_ends[1];
  for (std::size_t i = 0; i < starts_and_ends.size(); i += 2) {
    first = std::min(first, starts_and_ends[i]);
    last = std::max(last, starts_and_ends[i + 1]);
  }
  return static_cast<double>(last - first);
}

/// An array on the device, filled with one byte value.
template <class T>
class DeviceArray {
 public:
  static Result<DeviceArray> make(std::int64_t count, unsigned char byte = 0) {
    Result<DeviceMemory> memory = DeviceMemory::allocate(count * static_cast<std::int64_t>(sizeof(T)));
    if (!memory) return memory.error();
    if (Status filled = memory->fill(byte); !filled) return filled.error();
    DeviceArray array;
    array.memory_ = std::move(*memory);
    return Result<DeviceArray>(std::move(array));
  }
  T* data() const { return static_cast<T*>(memory_.address()); }
  std::int64_t count() const { return memory_.bytes() / static_cast<std::int64_t>(sizeof(T)); }
  Result<std::vector<T>> host() const {
    std::vector<T> values(static_cast<std::size_t>(count()));
    if (Status read = memory_.read(values.data(), memory_.bytes()); !read) return read.error();
    return values;
  }
  Status set(const std::vector<T>& values) {
    return memory_.write(values.data(), static_cast<std::int64_t>(values.size() * sizeof(T)));
  }

 private:
  DeviceMemory memory_;
};

/// Runs `launch` and `read` once to warm up, then `repeats` times. Returns the median of what `read` returned.
template <class Launch, class Read>
Result<double> repeated(int repeats, std::string_view what, Launch launch, Read read) {
  std::vector<double> values;
  for (int i = 0; i <= repeats; ++i) {
    launch();
    if (Status ran = checked(cudaDeviceSynchronize(), what); !ran) return ran.error();
    const Result<double> value = read();
    if (!value) return value.error();
    if (i > 0) values.push_back(*value);
  }
  return median(std::move(values));
}

/// Returns the nanoseconds between two events around `launch`: the median of `repeats` after one warm-up. `before` runs ahead of
/// the first event; a long kernel there keeps the GPU busy until the host has queued all launches.
template <class Launch, class Before>
Result<double> event_ns(int repeats, std::string_view what, Launch launch, Before before) {
  cudaEvent_t start = nullptr, end = nullptr;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  std::vector<double> values;
  cudaError_t code = cudaSuccess;
  for (int i = 0; i <= repeats && code == cudaSuccess; ++i) {
    before();
    cudaEventRecord(start);
    launch();
    cudaEventRecord(end);
    code = cudaEventSynchronize(end);
    float ms = 0;
    if (code == cudaSuccess) code = cudaEventElapsedTime(&ms, start, end);
    if (i > 0) values.push_back(ms * 1e6);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  if (Status ran = checked(code, what); !ran) return ran.error();
  return median(std::move(values));
}
template <class Launch>
Result<double> event_ns(int repeats, std::string_view what, Launch launch) {
  return event_ns(repeats, what, launch, [] {});
}

__device__ __forceinline__ std::int64_t cycle_counter() {
  std::int64_t cycle;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycle)::"memory");
  return cycle;
}
__device__ __forceinline__ std::int64_t nanosecond_counter() {
  std::int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}
__device__ __forceinline__ std::uint32_t sm_number() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

}  // namespace tilescope::microbench
