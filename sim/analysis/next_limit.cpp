// Lifts one limit of a GPU and simulates again.
#include "sim/analysis/next_limit.h"

namespace tilescope {

GpuSpec without_limit(GpuSpec gpu, Bound bound) {
  // To the model a rate of 0 is a resource that takes no time.
  switch (bound) {
    case Bound::tensor:
      gpu.sm_tensor_flops_per_cycle = gpu.sm_mma_flops_per_cycle = 0;
      gpu.sm_product_issue_cycles = gpu.sm_product_mixed_cycles = 0;
      break;
    case Bound::exp:
      gpu.sm_exps_per_cycle = 0;
      break;
    case Bound::fp32:
      gpu.sm_fp32_flops_per_cycle = gpu.sm_issues_per_cycle = gpu.sm_alu_lanes_per_cycle = 0;
      break;
    case Bound::l2:
      gpu.l2_bytes_per_cycle = gpu.l2_write_bytes_per_cycle = 0;
      gpu.sm_l2_bytes_per_cycle = gpu.sm_store_bytes_per_cycle = 0;
      break;
    case Bound::hbm:
      gpu.hbm_bytes_per_second = 0;
      break;
    case Bound::smem:
      gpu.sm_shared_bytes_per_cycle = 0;
      break;
    case Bound::latency:
      gpu.l2_latency_cycles = gpu.l2_far_latency_cycles = gpu.hbm_latency_cycles = 0;
      gpu.sm_dependent_cycles = gpu.sm_product_latency_cycles = gpu.sm_shared_latency_cycles = 0;
      gpu.sm_barrier_cycles = gpu.sm_block_start_cycles = 0;
      gpu.launch_first_ns = gpu.launch_overhead_ns = gpu.launch_interval_ns = 0;
      gpu.launch_fetch_cycles = gpu.launch_block_cycles = 0;
      break;
  }
  return gpu;
}

Result<NextLimit> next_limit(const Simulation& simulation, const Progress& progress) {
  SimulationRequest request = simulation.request;
  request.gpu = without_limit(std::move(request.gpu), simulation.bound);
  const auto without = simulate(request, progress);
  if (!without) return without.error();
  return NextLimit{simulation.bound, simulation.time.value, outcome_of(**without)};
}

}  // namespace tilescope
