// Whether a kernel computes what it should: its outputs against float64, on poisoned memory.
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
  std::int64_t unwritten = 0;  // elements that are not what they must be at all: poison, or finite where infinite is right
};

struct KernelCheck {
  std::vector<TensorError> errors;
  bool holds = true;
  std::string sentence;  // what does not hold; empty where all does
};

/// Runs the kernel on seeded inputs and compares every output. For small problems: the reference is on the host.
/// Errors  those of launching. A wrong result is no error but a check that does not hold.
Result<KernelCheck> check_kernel(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed);

/// The same for the kernel with the probe compiled in: outputs, and that every block said where it ran and each followed row ended
/// with the m and l of float64. The row is picked by the seed. Errors  those of launching; a kernel without a probe.
Result<KernelCheck> check_probed_kernel(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed);

}  // namespace tilescope
