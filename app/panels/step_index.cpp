// Finds the operation behind every interval of an SM by emitting each of its blocks once.
#include "app/panels/step_index.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/stage/program_shape.h"

namespace tilescope {
namespace {

StepLabel label_of(const Operation& operation) {
  StepLabel label;
  const bool moves = moves_tile(operation.kind);
  label.line = operation.line;
  label.slot = operation.kind == OpKind::store ? operation.src[0] : operation.dst;
  label.tensor = moves ? operation.tile.tensor : tensor_of(operation.dst);
  label.moves = moves;
  label.row = operation.tile.row;
  label.col = operation.tile.col;
  label.wait_load = operation.wait_load;
  label.issue_after = operation.issue_after;
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
  std::vector<std::pair<std::int32_t, BlockOperations>> open;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const std::int32_t run = intervals[i].run;
    auto block = std::find_if(open.begin(), open.end(), [run](const auto& each) { return each.first == run; });
    if (block == open.end()) {
      const BlockRun& at = simulation.trace->runs()[static_cast<std::size_t>(run)];
      block = std::find_if(open.begin(), open.end(), [&](const auto& each) {
        return simulation.trace->runs()[static_cast<std::size_t>(each.first)].end < intervals[i].start;
      });
      if (block == open.end()) block = open.emplace(open.end());
      block->first = run;
      simulation.program->emit_block(at.launch, at.block, block->second);
    }
    const auto op = static_cast<std::size_t>(intervals[i].op);
    if (op < block->second.operations.size()) index.labels[i] = label_of(block->second.operations[op]);
  }
  return index;
}

std::vector<std::int32_t> intervals_of_steps(const Trace& trace, int sm) {
  const auto intervals = trace.intervals(sm);
  std::vector<std::int32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return intervals[static_cast<std::size_t>(a)].end < intervals[static_cast<std::size_t>(b)].end;
  });
  return order;
}

std::int64_t step_of_interval(const Trace& trace, int sm, std::size_t interval) {
  const auto intervals = trace.intervals(sm);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < intervals.size(); ++i)
    step += intervals[i].end < intervals[interval].end || (intervals[i].end == intervals[interval].end && i < interval);
  return step;
}

std::int64_t next_step_on_line(const Trace& trace, const StepIndex& index, std::int64_t from, int line) {
  const auto order = intervals_of_steps(trace, index.sm);
  const auto on_line = [&](std::int32_t interval) { return index.labels[static_cast<std::size_t>(interval)].line == line; };
  const auto begin = order.begin();
  const auto after = begin + std::clamp<std::int64_t>(from, 0, static_cast<std::int64_t>(order.size()));
  if (const auto later = std::find_if(after, order.end(), on_line); later != order.end()) return later - begin + 1;
  const auto earlier = std::find_if(begin, after, on_line);
  return earlier == after ? -1 : earlier - begin + 1;
}

std::string step_name(const Simulation& simulation, const StepLabel& label) {
  if (!label.moves) return std::string(to_string(label.slot));
  const TensorLayout layout = tensor_layout(simulation.program->problem(), simulation.program->tile(), label.tensor);
  return tile_name(layout, {.tensor = label.tensor, .row = label.row, .col = label.col});
}

}  // namespace tilescope
