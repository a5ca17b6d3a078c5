// Checks a kernel's outputs against a float64 reference, on memory poisoned with NaNs.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel_table.h"
#include "sim/programs/attention_tensors.h"

namespace tilescope {

struct TensorError {
  Tensor tensor = tensors::o;
  double relative = 0;  // ‖got − expected‖ / ‖expected‖; for lse, m and l the largest absolute error
  double bound = 0;
  std::int64_t unwritten = 0;  // elements still poisoned, or finite where infinity is right
};

struct KernelCheck {
  std::vector<TensorError> errors;
  bool holds = true;
  std::string sentence;  // the failed check; empty if all hold
};

/// Runs the kernel on seeded inputs and compares every output. The reference runs on the host, so problems must be small.
/// Errors   those of launching. A wrong result is not an error: its check does not hold
Result<KernelCheck> check_kernel(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed);

/// Checks the probed kernel too: its outputs, that every block recorded where it ran, and that the followed row ends with the
/// float64 m and l; of a backward kernel that its S, P, dP and dS are those of float64. The seed picks the row.
/// Errors   those of launching; a kernel without a probe
Result<KernelCheck> check_probed_kernel(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed);

}  // namespace tilescope
