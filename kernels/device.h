// The NVIDIA device behind an interface without CUDA headers: properties, memory, launches and event timing.
//
//   In a build without CUDA every function returns no_cuda_error().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/planned_launch.h"
#include "sim/core/result.h"

namespace tilescope {

/// Returns whether this build contains CUDA kernels. A device may still be absent.
bool built_with_cuda();
/// Returns the error of every device function in a build without CUDA.
Error no_cuda_error();

struct DeviceInfo {
  std::string name;  // "NVIDIA H200"
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0, memory_bytes = 0, free_bytes = 0;
  std::int64_t shared_bytes_per_block = 0, shared_bytes_per_sm = 0;
  int registers_per_sm = 0, threads_per_sm = 0, blocks_per_sm = 0;
  double sm_clock_hz = 0, memory_clock_hz = 0;  // maximum clocks
  std::string driver_version, runtime_version;  // CUDA versions, such as "13.0"
};

/// Returns the properties of device 0.
/// Errors   no driver, no device, driver too old for this build, compute capability below 8.0: each says what is needed
Result<DeviceInfo> find_device();

/// Owns device memory. New memory is filled with 0xff bytes, a NaN in every element type, so unwritten outputs show.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Errors   out of device memory: says how much was requested and how much is free
  static Result<DeviceMemory> allocate(std::int64_t bytes);

  void* address() const { return memory_.get(); }
  std::int64_t bytes() const { return bytes_; }
  Status fill(unsigned char byte);
  Status write(const void* from, std::int64_t bytes, std::int64_t offset = 0);
  Status read(void* to, std::int64_t bytes) const;

 private:
  struct Free {
    void operator()(void* address) const;
  };
  std::unique_ptr<void, Free> memory_;
  std::int64_t bytes_ = 0;
};

/// A cudaStream_t; null is the default stream.
using StreamHandle = void*;

/// Loads a kernel from a cubin. It stays loaded until the program ends; PlannedLaunch::function takes what comes back.
/// Errors   a cubin for another GPU; no kernel of that name
Result<const void*> load_kernel(const std::string& cubin, const char* name);

Status launch(const PlannedLaunch& launch, StreamHandle stream);
/// Waits for the stream and returns the first error on it.
Status wait_for(StreamHandle stream);

/// On-chip needs of a compiled kernel, from the CUDA runtime.
struct CompiledNeeds {
  std::string name;
  int threads = 0, registers = 0;
  std::int64_t shared_bytes = 0;  // static and dynamic
  std::int64_t local_bytes = 0;   // local memory a thread: spilled registers
  int blocks_per_sm = 0;          // from the runtime's occupancy calculator
};
Result<CompiledNeeds> compiled_needs(const PlannedLaunch& launch);

/// Times work on a stream with two CUDA events.
class Stopwatch {
 public:
  static Result<Stopwatch> make();
  Status start(StreamHandle stream);
  /// Marks the end of the work. Does not wait, so the caller can queue more work.
  Status end(StreamHandle stream);
  /// Returns whether the GPU has passed start() by now. Right after end() it means that the host came late: the time may hold its
  /// launches.
  bool has_started() const;
  /// Waits for the work and returns the milliseconds from start() to end().
  Result<double> elapsed();

 private:
  struct Events;
  struct Destroy {
    void operator()(Events* events) const;
  };
  std::unique_ptr<Events, Destroy> events_;
};

/// Reads `scratch`, several times the L2's size. Afterwards the L2 holds only clean lines of `scratch`.
PlannedLaunch plan_flush(const DeviceMemory& scratch);

}  // namespace tilescope
