// The session's errands: blocks written out for the steps that are shown, and what left the screen freed, both off the frame.
#include <algorithm>
#include <utility>

#include "app/model/session_state.h"
#include "app/model/stage_facts.h"
#include "app/model/timeline_data.h"

namespace tilescope {

namespace {

/// Writing out a block of so few operations takes less time than handing it over would.
constexpr std::size_t short_block = 2048;

std::shared_ptr<const BlockOperations> write_out(const BlockKey& key) {
  auto made = std::make_shared<BlockOperations>();
  key.simulation->program->emit_block(key.launch, key.block, *made);
  return made;
}

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

}  // namespace

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
  const Trace& trace = *chosen.simulation->trace;
  const int sm = chosen.timeline_key.sm;
  chosen.telling_step = telling_step(*chosen.simulation, sm);
  std::vector<std::int64_t> wanted = steps;
  wanted.push_back(chosen.telling_step);
  for (const std::int64_t step : wanted) {
    const double cycle = trace.state_at(sm, std::clamp<std::int64_t>(step, 0, trace.step_count(sm))).cycle;
    for (Arrival& arrival : arrivals) add_block_at(arrival, cycle);
  }
  return arrivals;
}

std::vector<std::shared_ptr<const void>> Retired::take_free() {
  // The same thing can be here several times; only then it is held by nobody else, if these are all that hold it.
  std::sort(things_.begin(), things_.end(), [](const auto& a, const auto& b) { return a.get() < b.get(); });
  things_.erase(std::unique(things_.begin(), things_.end()), things_.end());
  const auto held = std::partition(things_.begin(), things_.end(), [](const auto& thing) { return thing.use_count() > 1; });
  std::vector<std::shared_ptr<const void>> free(std::make_move_iterator(held), std::make_move_iterator(things_.end()));
  things_.erase(held, things_.end());
  return free;
}

/// nullptr while a long one is being written out.
std::shared_ptr<const BlockOperations> Session::State::find_block(std::size_t slot, const LaneState& lane, const BlockRun& run) {
  const BlockKey key{lane.simulation, run.launch, run.block};
  if (const auto* made = blocks.find(key)) return *made;
  if (lane.block_lengths[static_cast<std::size_t>(run.launch)] > short_block) {
    ask_for_block(slot, key);
    return nullptr;
  }
  blocks.put(key, write_out(key));
  return *blocks.find(key);
}

void Session::State::ask_for_block(std::size_t slot, const BlockKey& key) {
  if (blocks_under_way[slot] == key) return;
  blocks_under_way[slot] = key;
  errands->submit(static_cast<int>(slot), {}, [this, slot, key](const Progress&) -> Worker::Deliver {
    return [this, slot, key, made = write_out(key)] {
      if (blocks_under_way[slot] == key) blocks_under_way[slot].reset();
      if (!blocks.holds(key)) blocks.put(key, made);
    };
  });
}

void Session::State::ask_for_next_block(const LaneState& lane, const BlockKey& key) {
  if (lane.block_lengths[static_cast<std::size_t>(key.launch)] > short_block && !blocks.holds(key))
    ask_for_block(block_slots - 1, key);
}

void Session::State::free_retired() {
  if (freeing) return;
  auto free = std::make_shared<std::vector<std::shared_ptr<const void>>>(retired.take_free());
  if (free->empty()) return;
  freeing = true;
  errands->submit(freeing_slot, {}, [this, free](const Progress&) -> Worker::Deliver {
    free->clear();
    return [this] { freeing = false; };
  });
}

}  // namespace tilescope
