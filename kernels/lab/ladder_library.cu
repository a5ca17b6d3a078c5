// A C interface to the Hopper kernels and their variants in ladder_variants.h, for beside_ladder.py.
#include <cuda_runtime_api.h>

#include <cmath>
#include <string_view>

#include "kernels/lab/ladder_variants.h"
#include "sim/programs/flash3_choice.h"

namespace tilescope {

// Replaces that of sim/core, which this library does not link. It has no score changes, so 1/√d is all.
double AttentionProblem::scale() const {
  return 1 / std::sqrt(static_cast<double>(head_dim));
}

namespace {

struct Row {
  std::string_view id;
  LaunchPlan (*plan)(const AttentionProblem&, const DeviceTensors&);
};
constexpr Row rows[] = {{"flash2", plan_flash2},
                        {"flash2_longest", plan_flash2_longest},
                        {"hopper_wgmma", plan_hopper_wgmma},
                        {"hopper_producer", plan_hopper_producer},
                        {"hopper_three_groups", plan_hopper_three_groups},
                        {"hopper_overlap", plan_hopper_overlap},
                        {"hopper_ping_pong", plan_hopper_ping_pong},
                        {"hopper_persistent", plan_hopper_persistent},
                        {"hopper_causal", plan_hopper_causal},
                        {"hopper_wgmma_longest", plan_hopper_wgmma_longest},
                        {"no turns", without_turns},
                        {"no overlap", without_overlap},
                        {"no ring", without_ring},
                        {"kept maximum", with_kept_maximum},
                        {"cubic quarter", with_cubic_quarter},
                        {"cubic half", with_cubic_half},
                        {"clusters", in_clusters},
                        {"multicast", in_clusters_with_multicast},
                        {"multicast no fences", in_clusters_without_fences},
                        {"three blocks", three_small_blocks},
                        {"five blocks", five_small_blocks}};

}  // namespace
}  // namespace tilescope

extern "C" {

/// Runs a kernel; sizes as in AttentionProblem, addresses q, k, v, o, lse. Returns null or the error sentence.
const char* ladder_run(const char* id, const long long* sizes, int is_bf16, int causal, void* const* addresses, void* stream) {
  using namespace tilescope;
  AttentionProblem problem;
  problem.batch = sizes[0];
  problem.heads = sizes[1];
  problem.kv_heads = sizes[2];
  problem.seq_q = sizes[3];
  problem.seq_kv = sizes[4];
  problem.head_dim = sizes[5];
  problem.dtype = is_bf16 != 0 ? DataType::bf16 : DataType::fp16;
  problem.causal = causal != 0;
  DeviceTensors tensors;
  tensors.q = addresses[0];
  tensors.k = addresses[1];
  tensors.v = addresses[2];
  tensors.o = addresses[3];
  tensors.lse = static_cast<float*>(addresses[4]);
  const std::string_view wanted = std::string_view(id) == "flash3" ? to_string(flash3_choice(problem)) : id;
  for (const Row& row : rows) {
    if (row.id != wanted) continue;
    const LaunchPlan plan = row.plan(problem, tensors);
    if (plan.empty()) return "the kernel is not made for this shape";
    for (PlannedLaunch launch : plan) {
      void* arguments[] = {launch.arguments.data()};
      cudaError_t code =
          cudaFuncSetAttribute(launch.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.shared_bytes));
      if (code == cudaSuccess)
        code = cudaLaunchKernel(launch.function,
                                dim3(static_cast<unsigned>(launch.grid[0]), static_cast<unsigned>(launch.grid[1]),
                                     static_cast<unsigned>(launch.grid[2])),
                                dim3(static_cast<unsigned>(launch.threads)), arguments,
                                static_cast<std::size_t>(launch.shared_bytes), static_cast<cudaStream_t>(stream));
      if (code != cudaSuccess) return cudaGetErrorString(code);
    }
    return nullptr;
  }
  return "there is no such kernel";
}
}
