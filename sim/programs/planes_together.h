// How many planes (heads of one batch) take part at a time where the last query tiles of all of them come first. The kernels and
// the model ask the same functions, so that their blocks come in the same order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/attention_problem.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

/// Returns the bytes for which kernels size their sets: half of the L2 that the device tells, one of two partitions of an A100,
/// H100 or H200. The kernels halve it on every GPU, so a change of the partitions changes no set. Without an L2 it returns 0.
inline double half_of_l2(const GpuSpec& gpu) {
  return gpu.has_l2() ? gpu.l2_capacity_bytes / 2 : 0;
}

/// Returns how many query planes have their K and V in `l2_bytes`; those that share K and V count together, and at least once.
inline std::int64_t planes_that_fit(const AttentionProblem& problem, double l2_bytes) {
  const auto keys_and_values = static_cast<double>(2 * problem.seq_kv * problem.head_dim * element_bytes(problem.dtype));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(l2_bytes / keys_and_values)) * problem.heads_of_kv_head();
}

/// Returns how many query planes make a set: about as many as have K and V in `l2_bytes`, of the partition through which an SM
/// mostly reads. All sets are about equally large, because a small last one would have few short tiles to end with. Heads that
/// share K and V stay together.
inline std::int64_t planes_together(const AttentionProblem& problem, double l2_bytes) {
  const std::int64_t sharing = problem.heads_of_kv_head(), planes = problem.query_planes();
  const std::int64_t fit = planes_that_fit(problem, l2_bytes);
  const std::int64_t sets = std::max<std::int64_t>(1, (planes + fit / 2) / fit), of_set = (planes + sets - 1) / sets;
  return (of_set + sharing - 1) / sharing * sharing;
}

/// Returns the same in sets of one size, as flash2_longest takes them: a divisor of all planes, whose K and V fit.
inline std::int64_t planes_in_equal_sets(const AttentionProblem& problem, double l2_bytes) {
  const std::int64_t planes = problem.query_planes();
  std::int64_t together = std::min(planes, planes_that_fit(problem, l2_bytes));
  while (planes % together != 0) --together;
  return together;
}

/// Returns the same as planes_together() for a kernel that takes the last of `query_tiles` tiles first. Without a mask, or with few
/// tiles a plane, there is little to balance: planes go one by one, and K and V stay closer.
inline std::int64_t planes_together_of_kernel(const AttentionProblem& problem, std::int64_t query_tiles, double l2_bytes) {
  constexpr std::int64_t few_tiles = 4;
  return problem.causal && query_tiles > few_tiles ? planes_together(problem, l2_bytes) : problem.heads_of_kv_head();
}

/// Returns how many of `query_tiles` x `planes` blocks come before `block` in that order: set by set, in each the last tiles first.
inline std::int64_t position_in_sets(std::int64_t block, std::int64_t query_tiles, std::int64_t planes, std::int64_t together) {
  const std::int64_t plane = block / query_tiles, first = plane / together * together, in_set = std::min(together, planes - first);
  return first * query_tiles + (query_tiles - 1 - block % query_tiles) * in_set + plane - first;
}

}  // namespace tilescope
