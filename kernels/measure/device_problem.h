// The tensors of one problem on the device. Inputs are filled, with -inf in the padding of S; outputs are poisoned with NaNs.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/measure/reference.h"

namespace tilescope {

class DeviceProblem {
 public:
  /// The inputs of a backward kernel include what the forward pass left.
  /// Errors   out of device memory: says how much all tensors need together
  static Result<DeviceProblem> make(const KernelInfo& kernel, const AttentionProblem& problem, const HostInputs& inputs);
  /// Does the same with seeded numbers generated on the device, for problems too large to generate on the host. For a backward
  /// kernel its forward kernel then runs.
  static Result<DeviceProblem> make_seeded(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed);

  DeviceTensors tensors() const;
  /// Replaces one plane of an input without padding; `bits` holds its rows one after another.
  Status write_plane(Tensor tensor, std::int64_t plane, const std::vector<std::uint16_t>& bits);
  /// Replaces one row of an input without padding, of all its rows.
  Status write_row(Tensor tensor, std::int64_t row, std::span<const float> values);
  /// Runs the forward kernel of a backward kernel. Results that are no inputs go to outputs of the same size, which are poisoned
  /// again.
  Status run_forward(const AttentionProblem& backward);
  /// Fills every output with NaNs again.
  Status poison();
  const DeviceMemory& memory(Tensor tensor) const { return memory_[tensor.index()]; }
  std::int64_t bytes() const;

 private:
  static Result<DeviceProblem> allocate(const KernelInfo& kernel, const AttentionProblem& problem);
  const KernelInfo* kernel_ = nullptr;
  std::vector<Tensor> outputs_, scratch_;
  int sum_copies_ = 1;  // of dQ_acc
  DataType type_ = DataType::fp16;
  std::array<DeviceMemory, most_tensors> memory_;
};

/// Plans a kernel that fills a tensor's rows with seeded, normally distributed elements, and their padding with -inf.
PlannedLaunch plan_random(const DeviceMemory& memory, const TensorLayout& layout, DataType type, std::uint64_t seed);

}  // namespace tilescope
