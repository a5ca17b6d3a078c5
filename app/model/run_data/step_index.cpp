// Finds the operation behind every interval of an SM by emitting each of its blocks once.
#include "app/model/run_data/step_index.h"

#include <algorithm>

#include "app/model/run_data/program_shape.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {
namespace {

StepLabel label_of(const Operation& operation, std::int32_t waits_for) {
  StepLabel label;
  const bool moves = moves_tile(operation.kind);
  label.line = operation.line;
  label.chip_tile = operation.kind == OpKind::store ? operation.src[0] : operation.dst;
  label.tensor = moves ? operation.tile.tensor : tensor_of(operation.dst);
  label.moves = moves;
  label.row = operation.tile.row;
  label.col = operation.tile.col;
  label.waits_for = waits_for;
  label.wait_token = operation.wait_token;
  label.signal_token = operation.signal_token;
  label.instructions = operation.instructions;
  label.shared_round_trips = operation.shared_round_trips;
  label.barriers = operation.barriers;
  return label;
}

}  // namespace

StepIndex make_step_index(const Simulation& simulation, int sm) {
  StepIndex index;
  index.sm = sm;
  if (!simulation.trace || !simulation.program) return index;
  const auto intervals = simulation.trace->intervals(sm);
  index.labels.resize(intervals.size());
  // Blocks of an SM come and go together, so that a few are open at a time; each is emitted when its first operation is met.
  struct OpenBlock {
    std::int32_t run = -1;
    BlockOperations block;
    std::vector<std::int32_t> waits;
  };
  std::vector<OpenBlock> open;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const std::int32_t run = intervals[i].run;
    auto block = std::find_if(open.begin(), open.end(), [run](const auto& each) { return each.run == run; });
    if (block == open.end()) {
      const BlockRun& at = simulation.trace->runs()[static_cast<std::size_t>(run)];
      block = std::find_if(open.begin(), open.end(), [&](const auto& each) {
        return simulation.trace->runs()[static_cast<std::size_t>(each.run)].end < intervals[i].start;
      });
      if (block == open.end()) block = open.emplace(open.end());
      block->run = run;
      simulation.program->emit_block(at.launch, at.block, block->block);
      block->waits = waited_for(block->block);
    }
    const auto op = static_cast<std::size_t>(intervals[i].op);
    if (op < block->waits.size()) index.labels[i] = label_of(block->block.operations[op], block->waits[op]);
  }
  for (std::size_t i = 0; i < index.labels.size(); ++i) {
    const std::size_t line = index.labels[i].line;
    if (line >= index.on_line.size()) index.on_line.resize(line + 1);
    index.on_line[line].push_back(static_cast<std::int32_t>(simulation.trace->step_of_interval(sm, i)));
  }
  for (auto& steps : index.on_line) std::sort(steps.begin(), steps.end());
  return index;
}

std::int64_t next_step_on_line(const StepIndex& index, std::int64_t from, int line) {
  if (line < 0 || static_cast<std::size_t>(line) >= index.on_line.size()) return -1;
  const auto& steps = index.on_line[static_cast<std::size_t>(line)];
  if (steps.empty()) return -1;
  const auto later = std::upper_bound(steps.begin(), steps.end(), from);
  return later == steps.end() ? steps.front() : *later;
}

std::string step_name(const Simulation& simulation, const StepLabel& label) {
  if (!label.moves) return label.chip_tile == ChipTile::none ? std::string() : std::string(to_string(label.chip_tile));
  const TensorLayout layout = tensor_layout(simulation.program->problem(), simulation.program->tile(), label.tensor);
  return tile_name(layout, {.tensor = label.tensor, .row = label.row, .col = label.col});
}

}  // namespace tilescope
