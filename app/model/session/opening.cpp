// Turns a state into a request, and into the start of a session.
#include "app/model/session/opening.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "app/model/requests/mask_tables.h"
#include "sim/core/refuse.h"

namespace tilescope {

Status check_focus(const WindowState& state, const SimulationRequest& request) {
  const int sms = static_cast<int>(request.gpu.sm_count);
  if (state.focus_sm < 0 || state.focus_sm >= sms)
    return refuse("there is no SM {}: {} has SMs 0 to {}", state.focus_sm, request.gpu.id, sms - 1);
  return Done{};
}

Status check_row(const WindowState& state, const SimulationRequest& request) {
  if (const auto tile = chosen_tile(request); state.row && tile && *state.row >= tile->block_q)
    return refuse("there is no row {}: a tile of {} has rows 0 to {}", *state.row, request.algorithm, tile->block_q - 1);
  return Done{};
}

Result<StateRequest> request_of(const WindowState& state, GpuLoader load_gpu) {
  if (load_gpu == nullptr) return refuse("no GPU can be loaded here, and the state asks for {}", state.gpu);
  Result<GpuSpec> gpu = load_gpu(state.gpu);
  if (!gpu) return gpu.error();
  StateRequest out;
  out.gpu_base = *gpu;
  for (const auto& [key, value] : state.spec_values)
    if (const Status set = set_spec_value(*gpu, fmt::format("{}={}", key, value)); !set) return set.error();
  if (state.sweep)
    if (const auto axis = parse_sweep_axis(state.sweep->axis); !axis) return axis.error();

  SimulationRequest& request = out.request;
  request.algorithm = state.algorithm;
  request.problem = state.problem;
  request.masking.masks = state.masks;
  request.masking.presets = state.presets;
  request.masking.score = state.score;
  request.masking.table_gradients = state.table_gradients;
  auto tables = load_tables(state.tables);
  if (!tables) return tables.error();
  request.masking.tables = std::move(*tables);
  if (const auto fault = find_mask_fault(request.masking, request.problem)) return error_of(*fault);
  if (const Status settled = settle_program(request); !settled) return settled.error();
  if (const Status good = check(request.problem); !good) return good.error();
  request.tile = state.tile;
  request.blocks_per_sm = state.blocks_per_sm;
  request.block_order = state.block_order;
  request.key_order = state.key_order;
  request.gpu = std::move(*gpu);
  request.focus_sm = state.focus_sm;
  if (const Status there = check_focus(state, request); !there) return there.error();
  out.inputs.seed = state.seed;
  out.inputs.spread = state.spread;
  out.inputs.q = state.q.pointer();
  out.inputs.k = state.k.pointer();
  out.inputs.v = state.v.pointer();
  return out;
}

Error no_such_step(std::int64_t step, std::int64_t last, int sm) {
  return refuse("there is no step {}: this run has steps 0 to {} on SM {}", step, last, sm);
}

Status check_position(const WindowState& state, std::span<const std::shared_ptr<const Simulation>> simulations) {
  if (const auto* step = std::get_if<WindowState::Step>(&state.position)) {
    const std::int64_t last = simulations.back()->trace->step_count(state.focus_sm);
    if (step->number < 0 || step->number > last) return no_such_step(step->number, last, state.focus_sm);
  }
  if (const auto* cycle = std::get_if<WindowState::Cycle>(&state.position)) {
    double end = 0;
    for (const auto& simulation : simulations) end = std::max(end, simulation->trace->end_cycle());
    if (!(cycle->at >= 0 && cycle->at <= end)) return refuse("there is no cycle {}: this run ends at cycle {}", cycle->at, end);
  }
  return Done{};
}

Result<Session::Start> opening_of(const WindowState& state, GpuLoader load_gpu) {
  Result<StateRequest> asked = request_of(state, load_gpu);
  if (!asked) return asked.error();
  Session::Start start;
  start.request = std::move(asked->request);
  start.gpu_source = state.gpu;
  start.inputs = std::move(asked->inputs);
  if (const auto* step = std::get_if<WindowState::Step>(&state.position)) start.step = step->number;
  start.race = state.race;
  start.by_sm = state.by_sm;
  start.theme = state.theme;
  start.center = state.center;
  start.language = state.language;
  start.load_gpu = load_gpu;
  start.load_table = &load_table;
  start.state = std::make_shared<const WindowState>(state);
  return start;
}

}  // namespace tilescope
