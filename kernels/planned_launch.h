// PlannedLaunch: one kernel launch with everything but the stream; a kernel of the table is a list of these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/core/tensor.h"

namespace tilescope {

/// Device addresses of the tensors of one problem, laid out as sim/core/tensor.h says. A kernel uses those it names.
struct DeviceTensors {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* s = nullptr;
  void* p = nullptr;
  void* o = nullptr;
  float* lse = nullptr;
  float* m = nullptr;
  float* l = nullptr;
};

struct PlannedLaunch {
  std::string_view name;
  const void* function = nullptr;  // the kernel's host-side handle
  std::array<std::int64_t, 3> grid{1, 1, 1};
  int threads = 0;
  std::int64_t shared_bytes = 0;  // dynamic
  alignas(16) std::array<std::byte, 128> arguments{};
};

/// Every kernel here takes one struct by value.
template <class Arguments>
PlannedLaunch planned(std::string_view name, const void* function, std::array<std::int64_t, 3> grid, int threads,
                      std::int64_t shared_bytes, const Arguments& arguments) {
  static_assert(std::is_trivially_copyable_v<Arguments> && sizeof(Arguments) <= sizeof(PlannedLaunch::arguments));
  PlannedLaunch launch{name, function, grid, threads, shared_bytes, {}};
  std::memcpy(launch.arguments.data(), &arguments, sizeof(Arguments));
  return launch;
}

/// The lengths and heads of a problem, under the names that the arguments of every attention kernel give them.
template <class Arguments>
void set_lengths_and_heads(Arguments& arguments, const AttentionProblem& problem) {
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.heads = static_cast<int>(problem.heads);
  arguments.kv_heads = static_cast<int>(problem.kv_heads);
}

// What each kernel file gives. Nothing is touched on the device; tensors may be null where only needs are asked for.
// A build without CUDA gives empty lists.
using LaunchPlan = std::vector<PlannedLaunch>;
LaunchPlan plan_flash2(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash2_descending(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash1(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_standard(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_softmax_safe(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_softmax_online(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_softmax_fused(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_matmul_naive(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_matmul_tiled(const AttentionProblem& problem, const DeviceTensors& tensors);
/// The softmax between two library products: S is not masked yet, and P must be whole.
PlannedLaunch plan_masked_softmax(const AttentionProblem& problem, const DeviceTensors& tensors);

}  // namespace tilescope
