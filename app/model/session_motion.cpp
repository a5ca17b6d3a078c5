// The session's playhead: stepping, seeking and playing, alone and in a race, and what each lane shows at the clock.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/model/session_state.h"

namespace tilescope {

namespace {

/// A whole race takes this long at speed 1.
constexpr double race_seconds = 24;

double cycle_of(const LaneState& lane, std::int64_t step) {
  return lane.simulation->trace->state_at(lane.focus_sm, step).cycle;
}

/// The operation of the step's block up to which its values stand: the step's own, or, where that moves a tile, the last one that
/// does not and was over by then.
int values_at(const Trace& trace, int sm, const TraceState& step) {
  if (!step.interval || !moves_tile(step.interval->kind)) return step.op;
  const auto intervals = trace.intervals(sm);
  auto next = std::upper_bound(intervals.begin(), intervals.end(), step.cycle,
                               [](double cycle, const Interval& interval) { return cycle < interval.start; });
  const double block_start = trace.runs()[static_cast<std::size_t>(step.run)].start;
  while (next != intervals.begin() && (--next)->start >= block_start)
    if (next->run == step.run && !moves_tile(next->kind) && next->end <= step.cycle) return next->op;
  return -1;
}

/// The nearest beginning of a `by` after (direction 1) or before (-1) `cycle` in one lane; nullopt when there is none.
std::optional<double> next_cycle(const LaneState& lane, double cycle, Grain by, int direction) {
  const Trace& trace = *lane.simulation->trace;
  std::int64_t step = trace.step_at_cycle(lane.focus_sm, cycle);
  // Operations overlap, so that the next step can end at this same moment: look a few further.
  constexpr int most_tries = 32;
  for (int tries = 0; tries < most_tries; ++tries) {
    const std::int64_t next = trace.seek(lane.focus_sm, step, by, direction);
    if (next == step) return std::nullopt;
    step = next;
    const double found = cycle_of(lane, step);
    if (direction > 0 ? found > cycle : found < cycle) return found;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t telling_step(const Simulation& simulation, int sm) {
  const Trace& trace = *simulation.trace;
  const auto intervals = trace.intervals(sm);
  const auto step_of = [&](const Interval& interval) {
    return trace.step_of_interval(sm, static_cast<std::size_t>(&interval - intervals.data()));
  };
  constexpr std::size_t looked_at = 4096;
  BlockOperations operations;
  std::int32_t held = -1;
  const Interval *exponential = nullptr, *product = nullptr;
  for (std::size_t i = 0; i < std::min(intervals.size(), looked_at); ++i) {
    const Interval& interval = intervals[i];
    if (exponential == nullptr && interval.kind == OpKind::exp) exponential = &interval;
    if (product == nullptr && interval.kind == OpKind::matmul) product = &interval;
    if (interval.kind != OpKind::rescale && interval.kind != OpKind::merge) continue;
    if (held != interval.run) {
      const BlockRun& run = trace.runs()[static_cast<std::size_t>(interval.run)];
      simulation.program->emit_block(run.launch, run.block, operations);
      held = interval.run;
    }
    if (operations.operations[static_cast<std::size_t>(interval.op)].iteration >= 1) return step_of(interval);
  }
  if (exponential != nullptr) return step_of(*exponential);
  return product != nullptr ? step_of(*product) : trace.step_count(sm) / 2;
}

double Session::State::end_cycle() const {
  double end = 0;
  for (const LaneState& lane : lanes) end = std::max(end, lane.simulation->trace->end_cycle());
  return end;
}

void Session::State::set_step(std::int64_t step, double glide_seconds) {
  LaneState& chosen = lanes.back();
  if (playhead.moving()) playhead.jump(playhead.goal());
  const double cycle = cycle_of(chosen, step);
  glide_seconds > 0 ? playhead.glide(cycle, glide_seconds) : playhead.jump(cycle);
  for (LaneState& lane : lanes) lane.step = lane.simulation->trace->step_at_cycle(lane.focus_sm, cycle);
  chosen.step = step;
  exactly_at_step = !race;
}

void Session::State::set_cycle(double cycle) {
  playhead.jump(cycle);
  for (LaneState& lane : lanes) lane.step = lane.simulation->trace->step_at_cycle(lane.focus_sm, cycle);
  exactly_at_step = false;
}

void Session::State::glide_to(double cycle, double seconds) {
  playhead.glide(cycle, seconds);
  for (LaneState& lane : lanes) lane.step = lane.simulation->trace->step_at_cycle(lane.focus_sm, cycle);
  exactly_at_step = false;
}

void Session::State::step_by(int direction, Grain by, double glide_seconds) {
  const LaneState& chosen = lanes.back();
  const Trace& trace = *chosen.simulation->trace;
  // Other SMs can go on after the last step of the one in focus: one step more shows how they end, and the way back begins there.
  if (const std::int64_t last = trace.step_count(chosen.focus_sm); chosen.step == last && last > 0) {
    if (direction > 0 && playhead.goal() < end_cycle()) glide_to(end_cycle(), glide_seconds);
    if (direction > 0) return;
    if (!exactly_at_step) return set_step(last, glide_seconds);
  }
  const std::int64_t step = trace.seek(chosen.focus_sm, chosen.step, by, direction);
  if (step != chosen.step || !exactly_at_step) set_step(step, glide_seconds);
}

void Session::State::race_by(int direction, Grain by, double glide_seconds) {
  if (playhead.moving()) playhead.jump(playhead.goal());
  const double now = playhead.cycle();
  std::optional<double> best;
  for (const LaneState& lane : lanes) {
    const std::optional<double> found = next_cycle(lane, now, by, direction);
    if (found && (!best || (direction > 0 ? *found < *best : *found > *best))) best = found;
  }
  const double goal = best.value_or(direction > 0 ? end_cycle() : 0);
  glide_to(goal, glide_seconds);
}

void Session::State::play(double seconds) {
  if (playing && race) {
    if (playhead.moving()) playhead.jump(playhead.goal());
    const double goal = std::min(end_cycle(), playhead.cycle() + seconds * speed * end_cycle() / race_seconds);
    set_cycle(goal);
    playing = goal < end_cycle();
    return;
  }
  double left = playhead.tick(seconds);
  // At high speed several steps fit a frame; a frame after a long pause must not run away.
  constexpr int most_steps = 16;
  for (int i = 0; playing && !playhead.moving() && i < most_steps; ++i) {
    const LaneState& chosen = lanes.back();
    const std::int64_t before = chosen.step;
    step_by(1, grain, 1 / (speed * steps_per_second(grain)));
    if (chosen.step == before && !playhead.moving()) {
      playing = false;
      break;
    }
    left = playhead.tick(std::max(left, 1e-9));
  }
}

void Session::State::refresh_lanes() {
  const double cycle = playhead.cycle();
  const bool at_rest = !playhead.moving() && exactly_at_step;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    LaneState& state = lanes[i];
    const Trace& trace = *state.simulation->trace;
    Lane& lane = state.lane;
    // A first step whose block is not there yet is shown without its operations.
    bool stepped = lane.simulation == nullptr || lane.step != state.step || lane.focus_sm != state.focus_sm ||
                   (lane.rest.run >= 0 && state.operations == nullptr);
    if (stepped) {
      TraceState rest = trace.state_at(state.focus_sm, state.step);
      std::shared_ptr<const BlockOperations> operations;
      const int values_op = values_at(trace, state.focus_sm, rest);
      if (rest.run >= 0) {
        const BlockRun& run = trace.runs()[static_cast<std::size_t>(rest.run)];
        operations = find_block(i, state, run);
        // What is shown stays until then.
        if (operations == nullptr && lane.simulation != nullptr) continue;
        if (operations != nullptr && waits_for_values(i, run, *operations, rest, values_op)) continue;
      }
      lane.rest = std::move(rest);
      lane.values_op = values_op;
      lane.operation = operations != nullptr ? &operations->operations[static_cast<std::size_t>(lane.rest.op)] : nullptr;
      state.operations = std::move(operations);
    }
    if (stepped || state.shown_cycle != cycle || state.shown_at_rest != at_rest) {
      lane.state = at_rest ? lane.rest : trace.state_at_cycle(state.focus_sm, cycle);
      state.shown_cycle = cycle;
      state.shown_at_rest = at_rest;
    }
    lane.simulation = state.simulation;
    lane.operations = state.operations.get();
    lane.step = state.step;
    lane.step_count = trace.step_count(state.focus_sm);
    lane.focus_sm = state.focus_sm;
  }
}

}  // namespace tilescope
