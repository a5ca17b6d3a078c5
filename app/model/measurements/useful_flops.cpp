// Counts what a mask shows, where that takes no more than a moment.
#include "app/model/measurements/useful_flops.h"

#include <cstdint>

#include "kernels/measure/timing.h"
#include "sim/masks/block_mask.h"

namespace tilescope {

namespace {

/// In partial blocks; an evaluation takes about 3 ns.
constexpr std::int64_t most_elements_evaluated = std::int64_t{1} << 27;

}  // namespace

double useful_flops(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (!problem.causal || problem.seq_q == problem.seq_kv) return nominal_flops(kernel, problem);
  AttentionProblem dense = problem;
  dense.causal = false;
  double visible = 0;
  for (std::int64_t row = 0; row < problem.seq_q; ++row) visible += static_cast<double>(problem.visible_keys(row));
  return nominal_flops(kernel, dense) * visible / (static_cast<double>(problem.seq_q) * static_cast<double>(problem.seq_kv));
}

double useful_flops(const Simulation& simulation) {
  const AttentionProblem& problem = simulation.request.problem;
  const auto kernel = find_kernel(simulation.info->id);
  if (!kernel || problem.pass == Pass::both) return static_cast<double>(simulation.flops);
  if (!problem.mask) return useful_flops(**kernel, problem);
  AttentionProblem dense = problem;
  dense.mask = nullptr;
  dense.causal = false;
  const BlockMask blocks = block_mask_of(*problem.mask, problem, mask_block_of(problem, simulation.program->tile()));
  const std::int64_t evaluated = blocks.partial_blocks * blocks.block.block_q * blocks.block.block_kv;
  if (evaluated > most_elements_evaluated) return 0;
  const double elements = static_cast<double>(problem.query_planes()) * static_cast<double>(problem.seq_q * problem.seq_kv);
  return nominal_flops(**kernel, dense) * static_cast<double>(visible_elements(*problem.mask, blocks, problem)) / elements;
}

}  // namespace tilescope
