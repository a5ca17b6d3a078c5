// Finds the row of a profile for a launch and a problem.
#include "sim/programs/kernel_profile.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace tilescope {

namespace {

template <class Row>
bool is_of(const Row& row, std::string_view launch, const AttentionProblem& problem) {
  return row.launch == launch && (row.head_dim == 0 || row.head_dim == compiled_head_dim(problem));
}

/// Aborts on a missing row, which is a bug. The contract tests build every program, so they look up every row.
template <class Row>
const Row& found(const Row* row) {
  assert(row != nullptr);
  if (row == nullptr) std::abort();
  return *row;
}

}  // namespace

std::int64_t compiled_head_dim(const AttentionProblem& problem) {
  return problem.head_dim <= 64 ? 64 : 128;
}

const KernelBuild& KernelProfile::build(std::string_view launch, const AttentionProblem& problem) const {
  const KernelBuild* best = nullptr;
  for (const KernelBuild& row : builds) {
    if (!is_of(row, launch, problem) || row.causal.value_or(problem.causal) != problem.causal) continue;
    if (row.dtype == problem.dtype) return row;
    if (problem.dtype == DataType::fp32 && (best == nullptr || row.registers > best->registers)) best = &row;
  }
  return found(best);
}

const LaunchReading& KernelProfile::reading(std::string_view launch, const AttentionProblem& problem) const {
  const DataType type = problem.dtype == DataType::bf16 ? DataType::bf16 : DataType::fp16;
  const auto row = std::find_if(readings.begin(), readings.end(), [&](const LaunchReading& each) {
    return is_of(each, launch, problem) && each.dtype.value_or(type) == type;
  });
  return found(row == readings.end() ? nullptr : &*row);
}

const OverheadReading& KernelProfile::overhead_reading(std::string_view launch, std::string_view at,
                                                       const AttentionProblem& problem) const {
  const auto row = std::find_if(overheads.begin(), overheads.end(),
                                [&](const OverheadReading& each) { return is_of(each, launch, problem) && each.at == at; });
  return found(row == overheads.end() ? nullptr : &*row);
}

const KernelProfile& kernel_profile(std::string_view id) {
  const std::span<const KernelProfile> all = kernel_profiles();
  const auto profile = std::find_if(all.begin(), all.end(), [&](const KernelProfile& each) { return each.id == id; });
  return found(profile == all.end() ? nullptr : &*profile);
}

}  // namespace tilescope
