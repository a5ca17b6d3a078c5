// Lifts one limit of a GPU and simulates again.
#include "sim/analysis/next_limit.h"

#include <algorithm>
#include <limits>

namespace tilescope {

GpuSpec without_limit(GpuSpec gpu, Bound bound) {
  // The model takes a rate of 0 as a resource without limit.
  switch (bound) {
    case Bound::tensor:
      gpu.sm_tensor_flops_per_cycle = gpu.sm_mma_flops_per_cycle = 0;
      // Here a rate of 0 would be a GPU without wgmma.
      if (gpu.sm_wgmma_flops_per_cycle > 0) gpu.sm_wgmma_flops_per_cycle = std::numeric_limits<double>::infinity();
      gpu.sm_product_issue_cycles = gpu.sm_product_mixed_cycles = 0;
      gpu.sm_beside_wgmma_alu_cycles = gpu.sm_beside_wgmma_exp_cycles = 0;
      gpu.sm_wgmma_fp32_cycles = gpu.sm_wgmma_mixed_cycles = gpu.sm_wgmma_alu_cycles = 0;
      break;
    case Bound::exp:
      gpu.sm_exps_per_cycle = gpu.sm_beside_wgmma_exp_cycles = 0;
      break;
    case Bound::fp32:
      gpu.sm_fp32_flops_per_cycle = gpu.sm_issues_per_cycle = gpu.sm_alu_lanes_per_cycle = 0;
      gpu.sm_beside_wgmma_alu_cycles = gpu.sm_wgmma_fp32_cycles = gpu.sm_wgmma_mixed_cycles = gpu.sm_wgmma_alu_cycles = 0;
      break;
    case Bound::l2:
      gpu.l2_bytes_per_cycle = gpu.l2_write_bytes_per_cycle = gpu.l2_copy_bytes_per_cycle = 0;
      gpu.l2_fabric_bytes_per_cycle = 0;
      gpu.sm_l2_bytes_per_cycle = gpu.sm_store_bytes_per_cycle = 0;
      gpu.l2_reduce_bytes_per_cycle = gpu.sm_reduce_bytes_per_cycle = 0;
      break;
    case Bound::hbm:
      gpu.hbm_bytes_per_second = 0;
      break;
    case Bound::smem:
      gpu.sm_shared_bytes_per_cycle = gpu.sm_copy_bytes_per_cycle = 0;
      break;
    case Bound::latency:
      gpu.l2_latency_cycles = gpu.l2_far_latency_cycles = gpu.hbm_latency_cycles = 0;
      gpu.hbm_tile_latency_cycles = gpu.hbm_write_wait_cycles = gpu.hbm_reorder_cycles = 0;
      gpu.sm_dependent_cycles = gpu.sm_product_latency_cycles = gpu.sm_shared_latency_cycles = 0;
      gpu.sm_barrier_cycles = gpu.sm_block_start_cycles = 0;
      gpu.sm_wgmma_issue_cycles = gpu.sm_wgmma_latency_cycles = 0;
      gpu.sm_mbarrier_cycles = gpu.sm_mbarrier_wait_cycles = gpu.sm_named_barrier_cycles = 0;
      gpu.sm_register_move_cycles = gpu.sm_box_issue_cycles = gpu.sm_box_latency_cycles = 0;
      gpu.launch_first_ns = gpu.launch_overhead_ns = gpu.launch_interval_ns = 0;
      gpu.launch_fetch_cycles = gpu.launch_map_cycles = gpu.launch_block_cycles = 0;
      break;
  }
  return gpu;
}

std::optional<Bound> likely_bound(const SimulationRequest& request, const Progress& progress) {
  constexpr std::int64_t part = 8;
  SimulationRequest smaller = request;
  AttentionProblem& problem = smaller.problem;
  if (problem.query_planes() < part || problem.kv_heads < 1) return std::nullopt;
  smaller.tile = chosen_tile(request);
  if (problem.batch >= part) {
    problem.batch /= part;
  } else {
    const std::int64_t sharing = problem.heads_of_kv_head();
    problem.kv_heads = std::max<std::int64_t>(1, problem.kv_heads * problem.batch / part);
    problem.heads = problem.kv_heads * sharing;
    problem.batch = 1;
  }
  const auto made = simulate(smaller, progress);
  return made ? std::optional((*made)->bound) : std::nullopt;
}

NextLimit next_limit_of(const Simulation& simulation, const Simulation& without) {
  return {simulation.bound, simulation.time.value, outcome_of(without)};
}

Result<NextLimit> next_limit(const Simulation& simulation, const Progress& progress) {
  SimulationRequest request = simulation.request;
  request.gpu = without_limit(std::move(request.gpu), simulation.bound);
  const auto without = simulate(request, progress);
  if (!without) return without.error();
  return next_limit_of(simulation, **without);
}

}  // namespace tilescope
