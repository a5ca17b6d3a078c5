// Settles what a request means, makes its program and runs it.
#include "sim/engine/simulation.h"

#include <utility>

#include "sim/core/refuse.h"
#include "sim/engine/run_checks.h"
#include "sim/engine/run_program.h"

namespace tilescope {

Error simulation_cancelled() {
  return {phrase("the simulation was cancelled"), Error::Kind::cancelled};
}

std::string_view to_string(Bound bound) {
  return bound_names[static_cast<std::size_t>(bound)];
}

bool is_intermediate(Tensor tensor) {
  const bool asked_for = tensor->meaning == Meaning::query || tensor->meaning == Meaning::key ||
                         tensor->meaning == Meaning::value || tensor->meaning == Meaning::output;
  return !asked_for || tensor->type.has_value();  // an fp32 accumulator of a gradient is extra
}

Status settle_program(SimulationRequest& request) {
  const Result<const ProgramInfo*> info = find_program(request.algorithm, request.problem.pass);
  if (!info) return info.error();
  request.algorithm = std::string((*info)->id);
  request.problem.pass = (*info)->pass;
  return Done{};
}

std::optional<ProgramTile> chosen_tile(const SimulationRequest& request) {
  const Result<const ProgramInfo*> info = find_program(request.algorithm, request.problem.pass);
  if (!request.tile && (!info || !check(request.problem))) return std::nullopt;
  ProgramTile tile = request.tile ? *request.tile : ProgramTile((*info)->default_tile(request.problem, request.gpu));
  if (!request.tile && (*info)->pass == Pass::both)
    tile.forward = (*find_program((*info)->forward))->default_tile(request.problem, request.gpu);
  tile.key_order = request.key_order;
  return tile;
}

Result<PlannedRun> plan_run(const SimulationRequest& asked, const Progress& progress) {
  if (const Status status = check(asked.problem); !status) return status.error();
  SimulationRequest request = asked;
  if (const Status status = settle_program(request); !status) return status.error();
  const auto go_on = [&progress] { return !progress || progress(0); };
  if (const Status status = settle_masks(request.masking, request.problem, {.go_on = go_on}); !status) return status.error();
  const Result<const ProgramInfo*> info = find_program(request.algorithm, request.problem.pass);
  if (const Status status = check_gpu(request); !status) return status.error();
  Result<std::unique_ptr<TileProgram>> program = (*info)->make(request.problem, *chosen_tile(request), request.gpu);
  if (!program) return program.error();
  const ProgramInfo& row = row_for(**info, request.problem);
  if (const Status status = check_stages(**program, row); !status) return status.error();
  return PlannedRun{std::move(request), &row, std::move(*program)};
}

Result<std::shared_ptr<const Simulation>> simulate(const SimulationRequest& asked, const Progress& progress) {
  const Result<PlannedRun> plan = plan_run(asked, progress);
  if (!plan) return plan.error();
  return run_program(plan->request, *plan->info, plan->program, progress);
}

}  // namespace tilescope
