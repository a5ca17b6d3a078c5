// Reads from the ledger which launches use a tensor.
#include "sim/analysis/memory_over_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/core/units.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

std::string planes_symbol(const AttentionProblem& problem, Planes planes) {
  switch (planes) {
    case Planes::query:
      return problem.heads == problem.kv_heads ? "B·H" : "B·Hq";
    case Planes::key:
      return problem.heads == problem.kv_heads ? "B·H" : "B·Hkv";
    default:
      return {};
  }
}

std::string axis_symbol(const AttentionProblem& problem, Axis axis) {
  const bool square = problem.seq_q == problem.seq_kv;
  if (axis == Axis::query) return square ? "N" : "Nq";
  if (axis == Axis::key) return square ? "N" : "Nk";
  return axis == Axis::head ? "d" : std::string();
}

/// Returns "B·H·N²·e"; the tensor's name if it has other axes.
std::string size_formula(const AttentionProblem& problem, Tensor tensor) {
  const std::string planes = planes_symbol(problem, tensor->planes), rows = axis_symbol(problem, tensor->rows),
                    cols = axis_symbol(problem, tensor->cols);
  if (planes.empty() || rows.empty() || (cols.empty() && tensor->cols != Axis::one)) return std::string(to_string(tensor));
  const std::string elements = cols.empty() ? rows : cols == rows ? rows + "²" : rows + "·" + cols;
  const std::string bytes = tensor->type ? std::to_string(element_bytes(*tensor->type)) : "e";
  return planes + "·" + elements + "·" + bytes;
}

bool has_scores(Tensor tensor) {
  return tensor->rows == Axis::query && tensor->cols == Axis::key;
}

/// Joins the sizes of tensors, the largest first, with equal ones counted.
std::string sum_formula(const AttentionProblem& problem, const std::vector<TensorLife>& lives) {
  std::map<std::string, std::pair<std::int64_t, int>> sums;  // bytes, number
  for (const TensorLife& life : lives) {
    auto& [bytes, number] = sums[size_formula(problem, life.tensor)];
    bytes += life.bytes.value;
    ++number;
  }
  std::vector<std::pair<std::int64_t, std::string>> terms;
  terms.reserve(sums.size());
  for (const auto& [formula, sum] : sums)
    terms.emplace_back(sum.first, sum.second == 1 ? formula : fmt::format("{}·{}", sum.second, formula));
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [bytes, term] : terms) text += (text.empty() ? "" : " + ") + term;
  return text;
}

/// Returns the first launch of the backward pass if the run has both; otherwise 0.
int first_backward_launch(const Simulation& simulation) {
  if (simulation.info->pass != Pass::both) return 0;
  const Result<const ProgramInfo*> forward = find_program(simulation.info->forward);
  if (!forward) return 0;
  const auto lines = static_cast<int>(row_for(**forward, simulation.program->problem()).listing.size());
  const auto launches = simulation.program->launches();
  const auto first = std::find_if(launches.begin(), launches.end(), [&](const LaunchSpec& l) { return l.first_line > lines; });
  return static_cast<int>(first - launches.begin());
}

}  // namespace

MemoryOverTime memory_over_time(const Simulation& simulation) {
  const TileProgram& program = *simulation.program;
  const AttentionProblem& problem = program.problem();
  const auto launches = static_cast<int>(program.launches().size());
  std::vector<Tensor> tensors(program.inputs().begin(), program.inputs().end());
  for (const Tensor tensor : program.outputs())
    if (std::find(tensors.begin(), tensors.end(), tensor) == tensors.end()) tensors.push_back(tensor);
  const auto used = [&](Tensor tensor, int launch) {
    return simulation.ledger.total(launch, tensor, Link::l2_to_sm).value +
               simulation.ledger.total(launch, tensor, Link::sm_to_l2).value >
           0;
  };
  MemoryOverTime memory;
  for (const Tensor tensor : tensors) {
    TensorLife life = {tensor, memory_layout(problem, program.tile(), tensor).bytes(), 0, launches - 1};
    if (is_intermediate(tensor)) {
      const bool found = program.schema().reads(tensor);
      while (life.first < launches && !found && !used(tensor, life.first)) ++life.first;
      while (life.last >= 0 && !used(tensor, life.last)) --life.last;
      if (life.last < life.first) continue;
    }
    memory.lives.push_back(life);
  }
  for (int launch = 0; launch < launches; ++launch) {
    Bytes live;
    for (const TensorLife& life : memory.lives)
      if (life.first <= launch && launch <= life.last) live += life.bytes;
    memory.live.push_back(live);
  }
  const auto peak = std::max_element(memory.live.begin(), memory.live.end(), [](Bytes a, Bytes b) { return a.value < b.value; });
  memory.peak_launch = static_cast<std::size_t>(peak - memory.live.begin());
  std::vector<TensorLife> at_peak;
  for (const TensorLife& life : memory.lives)
    if (life.first <= static_cast<int>(memory.peak_launch) && static_cast<int>(memory.peak_launch) <= life.last)
      at_peak.push_back(life);
  memory.peak_formula = sum_formula(problem, at_peak);
  memory.quadratic = std::any_of(at_peak.begin(), at_peak.end(), [](const TensorLife& life) { return has_scores(life.tensor); });

  const int backward = first_backward_launch(simulation);
  if (backward <= 0) return memory;
  Checkpointing& kept = memory.checkpointing.emplace();
  for (const TensorLife& life : memory.lives) {
    if (!is_intermediate(life.tensor) || life.first >= backward || life.last < backward || program.schema().reads(life.tensor))
      continue;
    kept.kept += life.bytes;
    kept.tensors.push_back(life.tensor);
  }
  for (int launch = 0; launch < backward; ++launch)
    for (const Tensor tensor : tensors)
      for (const Link link : {Link::hbm_read, Link::hbm_write}) kept.hbm += simulation.ledger.total(launch, tensor, link);
  const Cycles until(simulation.trace->launches()[static_cast<std::size_t>(backward)].start);
  kept.time = to_nanoseconds(until, simulation.request.gpu.clock());
  return memory;
}

}  // namespace tilescope
