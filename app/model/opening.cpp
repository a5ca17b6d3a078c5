// What a start has a field for goes there; the rest are commands.
#include "app/model/opening.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "app/model/mask_tables.h"

namespace tilescope {

namespace {

std::shared_ptr<const Matrix> kept(const std::optional<Matrix>& matrix) {
  return matrix ? std::make_shared<const Matrix>(*matrix) : nullptr;
}

}  // namespace

Result<Opening> opening_of(const WindowState& state, GpuLoader load_gpu) {
  Result<GpuSpec> gpu = load_gpu(state.gpu);
  if (!gpu) return gpu.error();
  for (const auto& [key, value] : state.spec_values)
    if (const Status set = set_spec_value(*gpu, fmt::format("{}={}", key, value)); !set) return set.error();

  Opening opening;
  Session::Start& start = opening.start;
  start.request.algorithm = state.algorithm;
  start.request.problem = state.problem;
  MaskChoice& masking = start.request.masking;
  masking.masks = state.masks;
  masking.presets = state.presets;
  masking.score = state.score;
  if (!state.tables.empty()) {
    auto tables = load_tables(state.tables);
    if (!tables) return tables.error();
    masking.tables = std::move(*tables);
  }
  if (const Status settled = settle_program(start.request); !settled) return settled.error();
  start.request.tile = state.tile;
  start.request.blocks_per_sm = state.blocks_per_sm;
  start.request.block_order = state.block_order;
  start.request.key_order = state.key_order;
  start.request.gpu = std::move(*gpu);
  start.gpu_source = state.gpu;
  start.request.focus_sm = state.focus_sm;
  start.inputs.seed = state.seed;
  start.inputs.spread = state.spread;
  start.inputs.q = kept(state.q);
  start.inputs.k = kept(state.k);
  start.inputs.v = kept(state.v);
  start.race = state.race;
  start.by_sm = state.by_sm;
  start.theme = state.theme;
  start.center = state.center;
  start.language = state.language;
  start.load_gpu = load_gpu;
  start.load_table = &load_table;

  std::vector<Command>& then = opening.then;
  if (const auto* step = std::get_if<WindowState::Step>(&state.position)) then.emplace_back(SeekStep{step->number});
  if (const auto* cycle = std::get_if<WindowState::Cycle>(&state.position)) then.emplace_back(SeekCycle{cycle->at});
  then.emplace_back(SetSpeed{state.speed});
  then.emplace_back(SetGrain{state.grain});
  if (state.row) then.emplace_back(SelectRow{*state.row});
  then.emplace_back(SetAlone{state.alone});
  then.emplace_back(SetSide{state.side});
  then.emplace_back(SetPresent{state.present});
  if (state.sweep) then.emplace_back(SetSweep{state.sweep->axis, state.sweep->algorithms, state.sweep->quantity});
  return opening;
}

}  // namespace tilescope
