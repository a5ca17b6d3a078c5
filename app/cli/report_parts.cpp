// Derives what the table and the JSON of `simulate` both say.
#include "app/cli/report_parts.h"

#include <algorithm>

#include "app/model/measurements/useful_flops.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"

namespace tilescope {

std::string mask_expression_text(const AttentionProblem& problem) {
  const auto* mask = dynamic_cast<const ExpressionMask*>(problem.mask.get());
  return mask != nullptr ? mask->expression().text : std::string();
}

TableList tables_left_out(const Simulation& simulation) {
  TableList tables;
  if (!simulation.info->has_lists) return tables;  // standard reads a matrix that was made of them
  const auto add = [&](const Expression& expression) {
    for (std::size_t n = 0; n < expression.tables.size(); ++n)
      if (expression.reads_table(n) && std::find(tables.begin(), tables.end(), expression.tables[n]) == tables.end())
        tables.push_back(expression.tables[n]);
  };
  const AttentionProblem& problem = simulation.request.problem;
  if (const auto* mask = dynamic_cast<const ExpressionMask*>(problem.mask.get())) add(mask->expression());
  if (problem.score_change) add(problem.score_change->expression());
  return tables;
}

Bytes table_bytes(const CapturedTable& table) {
  return Bytes(table.elements() * 4);  // ints, floats and conditions alike
}

std::optional<BlockMask> masked_blocks(const Simulation& simulation) {
  const AttentionProblem& problem = simulation.request.problem;
  if (!problem.mask) return std::nullopt;
  return block_mask_of(*problem.mask, problem, mask_block_of(problem, simulation.program->tile()));
}

double tflops_of(const Simulation& simulation) {
  return simulation.time.value > 0 ? useful_flops(simulation) / simulation.time.value / 1e3 : 0;
}

const Simulation& timed_of(const Simulation& simulation, const RunsBeside& beside) {
  return beside.under_load != nullptr ? *beside.under_load->simulation : simulation;
}

}  // namespace tilescope
