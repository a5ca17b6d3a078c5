// PlannedLaunch: one kernel launch, complete except for its stream. A kernel of the table is a list of planned launches.
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

/// Device addresses of a problem's tensors, in the layouts of sim/core/tensor.h. A kernel reads only the members it names.
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
  // Backward. A backward kernel reads what the forward pass left above: O and lse, or O, l and m, or P.
  const void* d_o = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  float* delta = nullptr;   // D = rowsum(dO * O)
  float* dq_acc = nullptr;  // fp32 sums of dQ, [copies, B, H, Nq, D]
  int dq_acc_copies = 1;
  void* dp = nullptr;
  void* ds = nullptr;
  std::array<float*, 4> d_tables{};     // gradients of captured tables, in the order of ScoreChange::table_gradients()
  std::array<float*, 8> table_parts{};  // of those that are added in order, in the order of ScoreChange::table_reads()
};

struct PlannedLaunch {
  std::string_view name;
  const void* function = nullptr;  // host-side handle of the kernel
  std::array<std::int64_t, 3> grid{1, 1, 1};
  int threads = 0;
  std::int64_t shared_bytes = 0;                         // dynamic
  alignas(128) std::array<std::byte, 1408> arguments{};  // TMA descriptors want the alignment; flex passes its constants
};

/// Returns a launch that copies `arguments`: every kernel takes one struct by value.
template <class Arguments>
PlannedLaunch planned(std::string_view name, const void* function, std::array<std::int64_t, 3> grid, int threads,
                      std::int64_t shared_bytes, const Arguments& arguments) {
  static_assert(std::is_trivially_copyable_v<Arguments> && sizeof(Arguments) <= sizeof(PlannedLaunch::arguments));
  PlannedLaunch launch{name, function, grid, threads, shared_bytes, {}};
  std::memcpy(launch.arguments.data(), &arguments, sizeof(Arguments));
  return launch;
}

/// Copies the problem's lengths and heads into the arguments; all attention kernels use the same member names.
template <class Arguments>
void set_lengths_and_heads(Arguments& arguments, const AttentionProblem& problem) {
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.heads = static_cast<int>(problem.heads);
  arguments.kv_heads = static_cast<int>(problem.kv_heads);
}

// The launches of each kernel. Planning touches no device memory, so the tensors may be null when only the needs are wanted.
// A build without CUDA returns empty lists.
using LaunchPlan = std::vector<PlannedLaunch>;
LaunchPlan plan_flash2(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash2_descending(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash2_longest(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_wgmma(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_producer(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_three_groups(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_overlap(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_ping_pong(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_persistent(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_causal(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_hopper_wgmma_longest(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash1(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_standard(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_standard_backward(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash1_backward(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_softmax_safe(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_softmax_online(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_softmax_fused(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_matmul_naive(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_matmul_tiled(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash2_backward(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash3_backward(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash2_backward_deterministic(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan plan_flash2_backward_two_pass(const AttentionProblem& problem, const DeviceTensors& tensors);
/// The softmax between two library products. It masks S itself, because the library does not, and writes all of P.
PlannedLaunch plan_masked_softmax(const AttentionProblem& problem, const DeviceTensors& tensors);

}  // namespace tilescope
