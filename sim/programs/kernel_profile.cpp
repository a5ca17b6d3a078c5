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

/// Returns the first row that is of a launch and a problem, and fits; nullptr if there is none.
template <class Row, class Fits>
const Row* row_of(std::span<const Row> rows, std::string_view launch, const AttentionProblem& problem, const Fits& fits) {
  const auto row = std::ranges::find_if(rows, [&](const Row& each) { return is_of(each, launch, problem) && fits(each); });
  return row == rows.end() ? nullptr : &*row;
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
  const auto of_type = [&](const LaunchReading& each) { return each.dtype.value_or(type) == type; };
  const LaunchReading* own = row_of(readings, launch, problem, of_type);
  return own != nullptr ? *own : found(row_of(kernel_profile("common").readings, launch, problem, of_type));
}

const OverheadReading& KernelProfile::overhead_reading(std::string_view launch, std::string_view at,
                                                       const AttentionProblem& problem) const {
  const auto is_at = [&](const OverheadReading& each) { return each.at == at; };
  const OverheadReading* own = row_of(overheads, launch, problem, is_at);
  return own != nullptr ? *own : found(row_of(kernel_profile("common").overheads, launch, problem, is_at));
}

const KernelProfile& kernel_profile(std::string_view id) {
  const std::span<const KernelProfile> all = kernel_profiles();
  const auto profile = std::find_if(all.begin(), all.end(), [&](const KernelProfile& each) { return each.id == id; });
  return found(profile == all.end() ? nullptr : &*profile);
}

}  // namespace tilescope
