// Longest first where the kernel is; a ticket is found by its block.
#include "sim/engine/launch_order.h"

#include "sim/engine/trace.h"
#include "sim/programs/planes_together.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

std::int64_t planes_of_set(const LaunchSpec& launch, const AttentionProblem& problem, const GpuSpec& gpu) {
  return launch.equal_sets ? planes_in_equal_sets(problem, half_of_l2(gpu)) : planes_together(problem, half_of_l2(gpu));
}

BlockSequence launch_order(const LaunchSpec& launch, const AttentionProblem& problem, const GpuSpec& gpu, BlockOrder asked,
                           std::int64_t blocks) {
  const bool is_own = asked == BlockOrder::launch && launch.grouped;
  const std::int64_t together =
      is_own ? planes_together_of_kernel(problem, launch.grid_x, half_of_l2(gpu)) : planes_of_set(launch, problem, gpu);
  // The other orders permute whole planes, and a part of a launch need not consist of these.
  const BlockOrder order = blocks != launch.blocks() ? BlockOrder::launch : is_own ? BlockOrder::grouped : asked;
  return {order, blocks, problem.query_planes(), together};
}

std::optional<Ticket> ticket_of(const Simulation& simulation, const BlockRun& run) {
  const auto number = static_cast<std::size_t>(run.launch);
  const LaunchSpec& launch = simulation.program->launches()[number];
  if (!launch.persistent || !launch.draws) return std::nullopt;
  const SimulationRequest& request = simulation.request;
  const std::int64_t blocks = launch.blocks();
  const BlockSequence order = launch_order(launch, request.problem, request.gpu, request.block_order, blocks);
  const std::int64_t row_tile = launch.in_order_of_rows(run.block);
  Ticket ticket{0, false, row_tile / launch.grid_x, row_tile % launch.grid_x};
  while (ticket.number < blocks && order.at(ticket.number) != run.block) ++ticket.number;
  ticket.is_drawn = ticket.number >= std::int64_t{simulation.launches[number].blocks_per_sm} * request.gpu.sm_count;
  return ticket;
}

}  // namespace tilescope
