// The tensors of one problem on the device: those that a kernel reads, filled, the pad of S with -inf; those that it writes,
// poisoned with NaNs.
#pragma once

#include <array>

#include "kernels/kernel_table.h"
#include "kernels/measure/reference.h"

namespace tilescope {

class DeviceProblem {
 public:
  /// Errors  out of device memory: says what all tensors take together.
  static Result<DeviceProblem> make(const KernelInfo& kernel, const AttentionProblem& problem, const HostInputs& inputs);
  /// The same with seeded numbers made on the device, for problems too large to make on the host.
  static Result<DeviceProblem> make_seeded(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed);

  DeviceTensors tensors() const;
  /// Replaces one plane of an input without a pad; `bits` are its rows one after the other.
  Status write_plane(Tensor tensor, std::int64_t plane, const std::vector<std::uint16_t>& bits);
  /// Fills every output with NaNs again.
  Status poison();
  const DeviceMemory& memory(Tensor tensor) const { return memory_[tensor.index()]; }
  std::int64_t bytes() const;

 private:
  static Result<DeviceProblem> allocate(const KernelInfo& kernel, const AttentionProblem& problem);
  const KernelInfo* kernel_ = nullptr;
  std::array<DeviceMemory, most_tensors> memory_;
};

/// Writes seeded, normally distributed elements to the rows of a tensor in device memory, and -inf after each, where it has a pad.
PlannedLaunch plan_random(const DeviceMemory& memory, const TensorLayout& layout, DataType type, std::uint64_t seed);

}  // namespace tilescope
