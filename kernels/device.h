// The NVIDIA device, seen without CUDA headers: what it is, its memory, and launching planned kernels on it.
//
//   A build without CUDA has the same functions; each returns an error that says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/planned_launch.h"
#include "sim/core/result.h"

namespace tilescope {

/// Whether this build has CUDA kernels at all; a device may still be absent.
bool built_with_cuda();
/// The error of every device function in a build without CUDA.
Error no_cuda_error();

struct DeviceInfo {
  std::string name;  // "NVIDIA H200"
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0, memory_bytes = 0, free_bytes = 0;
  std::int64_t shared_bytes_per_block = 0, shared_bytes_per_sm = 0;
  int registers_per_sm = 0, threads_per_sm = 0, blocks_per_sm = 0;
  double sm_clock_hz = 0, memory_clock_hz = 0;  // the highest the device runs at
  std::string driver_version, runtime_version;  // "13.0"; of CUDA
};

/// The first device that kernels here run on.
/// Errors  no driver, no device, driver too old for this build, compute capability below 8.0: each says what is there and what is
/// needed.
Result<DeviceInfo> find_device();

/// Device memory that frees itself. Starts filled with 0xff bytes, which are NaNs in every type here.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Errors  out of device memory: says how much was asked for and how much is free.
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

/// A stream, as CUDA has it; null is the default one.
using StreamHandle = void*;

Status launch(const PlannedLaunch& launch, StreamHandle stream);
/// Waits for the stream, and reports what went wrong on it.
Status wait_for(StreamHandle stream);

/// What the compiler made of a kernel.
struct CompiledNeeds {
  std::string name;
  int threads = 0, registers = 0;
  std::int64_t shared_bytes = 0;  // static and dynamic
  std::int64_t local_bytes = 0;   // of a thread: spills
  int blocks_per_sm = 0;          // by the occupancy calculator of the driver
};
Result<CompiledNeeds> compiled_needs(const PlannedLaunch& launch);

/// Two events around work on a stream.
class Stopwatch {
 public:
  static Result<Stopwatch> make();
  Status start(StreamHandle stream);
  /// Marks the end of the work; does not wait, so that what follows can be queued.
  Status end(StreamHandle stream);
  /// Milliseconds from start() to end(); waits for the work.
  Result<double> elapsed();

 private:
  struct Events;
  struct Destroy {
    void operator()(Events* events) const;
  };
  std::unique_ptr<Events, Destroy> events_;
};

/// Reads `scratch` (several times the L2) so that what the L2 holds afterwards is clean and nobody's.
PlannedLaunch plan_flush(const DeviceMemory& scratch);

}  // namespace tilescope
