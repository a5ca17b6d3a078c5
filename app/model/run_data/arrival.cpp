// Simulates, and works out what the first frame of a simulation needs.
#include "app/model/run_data/arrival.h"

#include <algorithm>
#include <string>

#include "app/model/requests/own_tile.h"
#include "app/model/requests/racers.h"
#include "app/model/run_data/stage_facts.h"
#include "sim/masks/block_mask.h"

namespace tilescope {

namespace {

using Simulations = Result<std::vector<std::shared_ptr<const Simulation>>>;

/// Adds the block that a simulation is in at `cycle`.
void add_block_at(Arrival& arrival, double cycle) {
  const Trace& trace = *arrival.simulation->trace;
  const int sm = arrival.timeline_key.sm;
  const TraceState state = trace.state_at(sm, trace.step_at_cycle(sm, cycle));
  if (state.run < 0) return;
  const BlockRun& run = trace.runs()[static_cast<std::size_t>(state.run)];
  const BlockKey key{arrival.simulation, run.launch, run.block};
  if (std::none_of(arrival.blocks.begin(), arrival.blocks.end(), [&](const auto& block) { return block.first == key; }))
    arrival.blocks.emplace_back(key, write_out(key));
}

bool shows_nothing(const Simulation& run) {
  const AttentionProblem& problem = run.request.problem;
  return problem.mask && block_mask_of(*problem.mask, problem, mask_block_of(problem, run.program->tile())).shows_nothing();
}

}  // namespace

Simulations simulate_lanes(const SimulationRequest& request, const Race& race, const Progress& progress) {
  std::vector<std::shared_ptr<const Simulation>> out;
  if (!race) {
    Result<std::shared_ptr<const Simulation>> one = simulate(request, progress);
    if (!one) return one.error();
    out.push_back(std::move(*one));
    return out;
  }
  const auto [first, second] = racers(request.algorithm, race.with);
  for (const std::string& algorithm : {first, second}) {
    SimulationRequest lane = request_of_rival(request, algorithm);
    const double done = static_cast<double>(out.size()) / 2;
    const auto run = [&] { return simulate(lane, [&progress, done](double fraction) { return progress(done + fraction / 2); }); };
    Result<std::shared_ptr<const Simulation>> one = run();
    // A tile that was chosen for one of them need not fit the other, which then takes its own.
    if (!one && one.error().kind == Error::Kind::wrong_request && lane.tile && algorithm != request.algorithm) {
      take_own_tile(lane);
      one = run();
    }
    if (!one) return one.error();
    out.push_back(std::move(*one));
  }
  return out;
}

std::vector<Arrival> make_arrivals(std::vector<std::shared_ptr<const Simulation>> simulations, int focus_sm,
                                   const std::vector<std::int64_t>& steps) {
  std::vector<Arrival> arrivals;
  for (auto& simulation : simulations) {
    Arrival& arrival = arrivals.emplace_back();
    arrival.simulation = std::move(simulation);
    arrival.timeline_key = timeline_key(arrival.simulation, focus_sm);
    arrival.timeline = lay_out_timeline_of(arrival.timeline_key);
  }
  if (arrivals.empty()) return arrivals;
  Arrival& chosen = arrivals.back();
  chosen.mask_shows_nothing = shows_nothing(*chosen.simulation);
  const Trace& trace = *chosen.simulation->trace;
  const int sm = chosen.timeline_key.sm;
  chosen.opening_step = opening_step(*chosen.simulation, sm);
  std::vector<std::int64_t> wanted = steps;
  wanted.push_back(chosen.opening_step);
  for (const std::int64_t step : wanted) {
    const double cycle = trace.state_at(sm, std::clamp<std::int64_t>(step, 0, trace.step_count(sm))).cycle;
    for (Arrival& arrival : arrivals) add_block_at(arrival, cycle);
  }
  return arrivals;
}

TimelineKey timeline_key(const std::shared_ptr<const Simulation>& simulation, int sm) {
  const auto focused = simulation->trace->focused_sms();
  const bool there = std::find(focused.begin(), focused.end(), sm) != focused.end();
  return {simulation, there || focused.empty() ? sm : focused.front()};
}

std::shared_ptr<const TimelineData> lay_out_timeline_of(const TimelineKey& key) {
  auto steps = std::make_shared<const StepIndex>(make_step_index(*key.simulation, key.sm));
  auto data = std::make_shared<TimelineData>(make_timeline(*key.simulation, std::move(steps)));
  data->stage_facts = std::make_shared<const StageFacts>(make_stage_facts(*key.simulation));
  return data;
}

std::shared_ptr<const BlockOperations> write_out(const BlockKey& key) {
  auto made = std::make_shared<BlockOperations>();
  key.simulation->program->emit_block(key.launch, key.block, *made);
  return made;
}

std::int64_t opening_step(const Simulation& simulation, int sm) {
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

}  // namespace tilescope
