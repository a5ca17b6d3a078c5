// run_kernel(): one run of a kernel on given inputs, and all that it leaves.
#pragma once

#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/measure/reference.h"

namespace tilescope {

/// An output of a kernel without padding, plane after plane, row-major.
struct KernelOutput {
  Tensor tensor;
  std::vector<float> values;
};

/// Runs a kernel once.
/// Errors   those of supports(); no GPU, too little memory, a failed launch
Result<std::vector<KernelOutput>> run_kernel(const KernelInfo& kernel, const AttentionProblem& problem, const HostInputs& inputs);

}  // namespace tilescope
