// Blocks, values, planes and timelines: found in what is kept, or asked of the worker.
#include "app/model/session/derived.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/model/run_data/stage_facts.h"
#include "app/model/run_data/tile_accesses.h"
#include "app/model/session/sm_findings.h"

namespace tilescope {

namespace {

/// Writing out a block of so few operations takes less time than handing it over would.
constexpr std::size_t short_block = 2048;
/// Longer than this a step does not wait for its values: it is shown without them.
constexpr double longest_wait_for_values = 0.25;

/// nullptr where the program has no output to hold against it, or where a row of the plane would keep a frame waiting.
std::shared_ptr<const ReferencePlane> make_reference(const TileProgram& program, const InputSource& inputs, std::int64_t plane) {
  const auto outputs = program.outputs();
  if (std::none_of(outputs.begin(), outputs.end(), [](Tensor tensor) { return tensor.means(Meaning::output); })) return nullptr;
  if (program.problem().seq_kv * program.problem().head_dim > most_checked_elements) return nullptr;
  return std::make_shared<const ReferencePlane>(program, inputs, plane);
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

/// The operations after which the values of a step are looked at: its own and the one before, what its iteration began with, and
/// the loads that filled the buffers there are.
ValuesKey values_of_step(std::shared_ptr<const BlockValues> history, const BlockOperations& block, const TraceState& state, int op,
                         int values_op) {
  ValuesKey values{std::move(history), {}};
  const auto add = [&](int at) {
    if (at >= 0 && std::find(values.ops.begin(), values.ops.end(), at) == values.ops.end()) values.ops.push_back(at);
  };
  const auto& operations = block.operations;
  add(values_op);
  add(values.history->before(values_op));
  int begin = values_op;
  while (begin >= 0 &&
         operations[static_cast<std::size_t>(begin)].iteration == operations[static_cast<std::size_t>(values_op)].iteration)
    --begin;
  add(begin);
  add(op);
  for (const ChipTileState& held : state.chip_tiles)
    if (held.run == state.run && held.valid) add(held.op);
  return values;
}

/// The row that shows most: the one whose sum and output this block scales nearest to a half. nullopt where nothing is scaled.
std::optional<int> most_rescaled_row(const Schema& schema, const BlockValues& history, int op) {
  const ChipTile factor = schema.tile(Meaning::row_max, TilePart::factor);
  if (factor == ChipTile::none) return std::nullopt;
  const std::shared_ptr<const Matrix> alpha = history.value(factor, op);
  if (alpha == nullptr || alpha->values.empty()) return std::nullopt;
  const auto distance = [](float a) { return std::fabs(a - 0.5F); };
  const auto& values = alpha->values;
  const auto best = std::min_element(values.begin(), values.end(), [&](float a, float b) { return distance(a) < distance(b); });
  return static_cast<int>(best - values.begin());
}

}  // namespace

Derived::Derived(Worker& worker, Retired& retired, const Playback& playback, const Requested& requested)
    : worker_(worker),
      retired_(retired),
      playback_(playback),
      requested_(requested),
      timelines_(retired),
      planes_(retired),
      histories_(retired),
      blocks_(retired) {}

void Derived::show(const std::vector<Arrival>& arrivals, std::vector<Runner> left) {
  for (Shown& shown : shown_) retired_.add(std::move(shown.operations));
  shown_.clear();
  for (const Arrival& arrival : arrivals) {
    Shown& shown = shown_.emplace_back();
    for (const ProgramShape& shape : arrival.timeline->stage_facts->shapes) shown.block_lengths.push_back(shape.longest_block);
  }
  for (Runner& runner : left) retired_.add(std::move(runner.simulation));
  const auto gone = [&](const auto& key) {
    return std::none_of(arrivals.begin(), arrivals.end(),
                        [&](const Arrival& arrival) { return arrival.simulation == key.simulation; });
  };
  histories_.erase_if(gone);
  values_asked_ = values_brought_ = {};
  planes_.erase_if(gone);
  timelines_.erase_if(gone);
  blocks_.erase_if(gone);
  for (const Arrival& arrival : arrivals) {
    timelines_.put(arrival.timeline_key, arrival.timeline);
    for (const auto& [key, block] : arrival.blocks) blocks_.put(key, block);
  }
}

// --- the step that is shown -------------------------------------------------------------------------------------------------

void Derived::refresh(double clock_seconds) {
  for (std::size_t i = 0; i < shown_.size(); ++i) refresh_lane(i, clock_seconds);
}

void Derived::refresh_lane(std::size_t i, double clock_seconds) {
  const double cycle = playback_.cycle();
  const bool at_rest = playback_.at_rest();
  const Runner& runner = playback_.runners()[i];
  Shown& shown = shown_[i];
  const Trace& trace = *runner.simulation->trace;
  Lane& lane = shown.lane;
  // A first step whose block is not there yet is shown without its operations.
  const bool stepped = lane.simulation == nullptr || lane.step != runner.step || lane.focus_sm != runner.focus_sm ||
                       (lane.rest.run >= 0 && shown.operations == nullptr);
  if (stepped) {
    TraceState rest = trace.state_at(runner.focus_sm, runner.step);
    std::shared_ptr<const BlockOperations> operations;
    const int values_op = values_at(trace, runner.focus_sm, rest);
    if (rest.run >= 0) {
      const BlockRun& run = trace.runs()[static_cast<std::size_t>(rest.run)];
      operations = find_block(i, runner, run);
      // What is shown stays until then.
      if (operations == nullptr && lane.simulation != nullptr) return;
      if (operations != nullptr && waits_for_values(i, run, *operations, rest, values_op, clock_seconds)) return;
    }
    lane.rest = std::move(rest);
    lane.values_op = values_op;
    lane.operation = operations != nullptr ? &operations->operations[static_cast<std::size_t>(lane.rest.op)] : nullptr;
    shown.operations = std::move(operations);
  }
  if (stepped || shown.cycle != cycle || shown.at_rest != at_rest) {
    lane.state = at_rest ? lane.rest : trace.state_at_cycle(runner.focus_sm, cycle);
    shown.cycle = cycle;
    shown.at_rest = at_rest;
  }
  lane.simulation = runner.simulation;
  lane.operations = shown.operations.get();
  lane.step = runner.step;
  lane.step_count = trace.step_count(runner.focus_sm);
  lane.focus_sm = runner.focus_sm;
}

void Derived::publish(const SmFindings& sms) {
  published_.clear();
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    Lane& lane = published_.emplace_back(shown_[i].lane);
    lane.sm_lanes = sms.lanes_of(i);
    lane.sm_works = sms.works_of(i);
  }
}

// --- blocks -----------------------------------------------------------------------------------------------------------------

/// nullptr while a long one is being written out.
std::shared_ptr<const BlockOperations> Derived::find_block(std::size_t slot, const Runner& runner, const BlockRun& run) {
  const BlockKey key{runner.simulation, run.launch, run.block};
  if (const auto* made = blocks_.find(key)) return *made;
  if (shown_[slot].block_lengths[static_cast<std::size_t>(run.launch)] > short_block) {
    ask_for_block(slot, key);
    return nullptr;
  }
  blocks_.put(key, write_out(key));
  return *blocks_.find(key);
}

void Derived::ask_for_block(std::size_t slot, const BlockKey& key) {
  if (blocks_under_way_[slot] == key) return;
  blocks_under_way_[slot] = key;
  worker_.submit(Queue::quick, slots::first_block + static_cast<int>(slot), WorkKind::unnamed,
                 [this, slot, key](const Progress&) -> Worker::Deliver {
                   return [this, slot, key, made = write_out(key)] {
                     if (blocks_under_way_[slot] == key) blocks_under_way_[slot].reset();
                     if (!blocks_.holds(key)) blocks_.put(key, made);
                   };
                 });
}

void Derived::ask_for_next_block(const BlockKey& key) {
  if (shown_.back().block_lengths[static_cast<std::size_t>(key.launch)] > short_block && !blocks_.holds(key))
    ask_for_block(next, key);
}

/// The block that comes next on the SM that the chosen lane shows.
std::optional<BlockKey> Derived::next_block() const {
  const Shown& chosen = shown_.back();
  const Runner& runner = playback_.chosen();
  const Trace& trace = *runner.simulation->trace;
  const auto run = static_cast<std::size_t>(std::max(0, chosen.lane.rest.run));
  constexpr std::size_t looked_at = 4096;  // blocks start on all SMs in turn: the next one on this SM is near, or there is none
  const std::size_t end = std::min(trace.runs().size(), run + looked_at);
  for (std::size_t at = chosen.operations == nullptr ? run : run + 1; at < end; ++at) {
    const BlockRun& block = trace.runs()[at];
    if (block.sm == chosen.lane.focus_sm) return BlockKey{runner.simulation, block.launch, block.block};
  }
  return std::nullopt;
}

void Derived::free_retired() {
  if (freeing_) return;
  auto free = std::make_shared<std::vector<std::shared_ptr<const void>>>(retired_.take_free());
  if (free->empty()) return;
  freeing_ = true;
  worker_.submit(Queue::quick, slots::freeing, WorkKind::unnamed, [this, free](const Progress&) -> Worker::Deliver {
    free->clear();
    return [this] { freeing_ = false; };
  });
}

// --- values -----------------------------------------------------------------------------------------------------------------

bool Derived::at_hand(std::size_t slot, const ValuesKey& values) const {
  if (values.history->keeps_everything() || values_brought_[slot] == values) return true;
  for (const int op : values.ops)
    for (ChipTile tile : values.history->operations().tiles)
      if (!values.history->at_hand(tile, op)) return false;
  return true;
}

/// Runs the iterations again that the values of a large block come from, so that the frame finds them there.
void Derived::ask_for_values(std::size_t slot, const ValuesKey& values) {
  if (values_asked_[slot] == values) return;
  values_asked_[slot] = values;
  worker_.submit(Queue::quick, slots::first_values + static_cast<int>(slot), WorkKind::unnamed,
                 [this, slot, values](const Progress& progress) -> Worker::Deliver {
                   bool all = true;
                   for (const int op : values.ops)
                     for (ChipTile tile : values.history->operations().tiles) {
                       if (!(all = all && progress(0))) break;
                       values.history->value(tile, op);
                     }
                   return [this, slot, values, all] {
                     if (values_asked_[slot] == values) values_asked_[slot] = {};
                     if (all) values_brought_[slot] = values;
                   };
                 });
}

/// True while the step is not to be shown yet.
bool Derived::waits_for_values(std::size_t i, const BlockRun& run, const BlockOperations& block, const TraceState& rest,
                               int values_op, double clock_seconds) {
  Shown& shown = shown_[i];
  const auto* history = histories_.find(BlockKey{playback_.runners()[i].simulation, run.launch, run.block});
  std::optional<ValuesKey> values;  // that are not at hand
  if (history != nullptr && shown.lane.simulation != nullptr) values = values_of_step(*history, block, rest, rest.op, values_op);
  if (!values || at_hand(i, *values)) {
    shown.values_since = -1;
    return false;
  }
  ask_for_values(i, *values);
  if (shown.values_since < 0) shown.values_since = clock_seconds;
  return clock_seconds - shown.values_since < longest_wait_for_values;
}

/// Of the iteration after the one that is shown.
void Derived::ask_for_next_values() {
  const Shown& chosen = shown_.back();
  const auto& operations = chosen.operations->operations;
  auto op = static_cast<std::size_t>(std::max(0, chosen.lane.values_op));
  const std::int32_t iteration = operations[op].iteration;
  const auto later = [&](const Operation& after) { return after.kind != OpKind::load && after.iteration != iteration; };
  op = static_cast<std::size_t>(std::find_if(operations.begin() + static_cast<std::ptrdiff_t>(op), operations.end(), later) -
                                operations.begin());
  if (op == operations.size()) return;
  const ValuesKey values{chosen.lane.history, {static_cast<int>(op)}};
  if (!at_hand(next, values)) ask_for_values(next, values);
}

void Derived::ask_for_history(std::size_t slot, const BlockKey& key) {
  if (histories_under_way_[slot] == key || blocks_at_fault_[slot] == key) return;
  histories_under_way_[slot] = key;
  const InputSource source = requested_.fitting_inputs(key.simulation->request.problem);
  worker_.submit(Queue::shown, slots::first_history + static_cast<int>(slot), WorkKind::values,
                 [this, slot, key, source](const Progress& progress) -> Worker::Deliver {
                   auto made = run_block(*key.simulation->program, source, key.launch, key.block, progress);
                   return
                       [this, slot, key, history = made ? *made : nullptr,
                        error = made || made.error().kind == Error::Kind::cancelled ? std::nullopt : std::optional(made.error())] {
                         if (histories_under_way_[slot] != key) return;  // asked for something else meanwhile
                         histories_under_way_[slot].reset();
                         if (history) histories_.put(key, history);
                         if (!error) return;
                         blocks_at_fault_[slot] = key;
                         fault_ = error;
                       };
                 });
}

void Derived::forget_values() {
  histories_.clear();
  values_asked_ = values_brought_ = {};
  planes_.clear();
  forget_requests();
}

void Derived::forget_requests() {
  for (auto& at_fault : blocks_at_fault_) at_fault.reset();
  for (auto& under_way : histories_under_way_) under_way.reset();
  for (auto& under_way : planes_under_way_) under_way.reset();
  for (auto& under_way : timelines_under_way_) under_way.reset();
}

void Derived::show_values(std::size_t i) {
  Shown& shown = shown_[i];
  Lane& lane = shown.lane;
  if (shown.operations == nullptr) {
    lane.history = nullptr;
    return;
  }
  const BlockKey key{playback_.runners()[i].simulation, shown.operations->launch, shown.operations->block};
  const auto* history = histories_.find(key);
  lane.history = history != nullptr ? *history : nullptr;
  if (lane.history == nullptr) return ask_for_history(i, key);
  const ValuesKey values = values_of_step(*history, *shown.operations, lane.state, lane.rest.op, lane.values_op);
  if (at_hand(i, values)) return;
  ask_for_values(i, values);
  // A load that has just landed is shown when it is there; without the rest there is nothing to show.
  if (!at_hand(i, values_of_step(*history, *shown.operations, lane.rest, lane.rest.op, lane.values_op))) lane.history = nullptr;
}

/// The values of the blocks that are shown, then of the block that comes next on the same SM, so that stepping finds them ready.
void Derived::ask(Workspace& workspace) {
  if (fault_) workspace.message = ControlMessage{"score", *std::exchange(fault_, std::nullopt)};
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    show_timeline(i);
    if (workspace.shows_values()) {
      show_plane(i);
      show_values(i);
    } else {  // those of an earlier step belong to no step that is shown
      Lane& lane = shown_[i].lane;
      lane.history = nullptr;
      lane.reference = nullptr;
      lane.tile_accesses = nullptr;
    }
  }
  if (!workspace.shows_values()) return;
  const Lane& lane = shown_.back().lane;
  if (lane.history != nullptr && !workspace.row_chosen) {
    workspace.row_chosen = true;
    workspace.row = most_rescaled_row(lane.simulation->program->schema(), *lane.history, lane.rest.op).value_or(workspace.row);
  }
  if (lane.history != nullptr && !lane.history->keeps_everything()) ask_for_next_values();
  const std::optional<BlockKey> after = next_block();
  if (!after) return;
  ask_for_next_block(*after);
  if (shown_.back().operations != nullptr && lane.history == nullptr) return;
  if (!histories_.holds(*after)) ask_for_history(next, *after);
}

// --- planes and timelines ---------------------------------------------------------------------------------------------------

void Derived::ask_for_plane(std::size_t slot, const PlaneKey& key) {
  if (planes_under_way_[slot] == key) return;
  planes_under_way_[slot] = key;
  const InputSource source = requested_.fitting_inputs(key.simulation->request.problem);
  worker_.submit(Queue::shown, slots::first_plane + static_cast<int>(slot), WorkKind::values,
                 [this, slot, key, source](const Progress&) -> Worker::Deliver {
                   const PlaneFacts facts{make_reference(*key.simulation->program, source, key.plane),
                                          std::make_shared<const TileAccesses>(*key.simulation, key.plane)};
                   return [this, slot, key, facts] {
                     if (planes_under_way_[slot] != key) return;
                     planes_under_way_[slot].reset();
                     planes_.put(key, facts);
                   };
                 });
}

/// What is known of the plane of the step's block; of the first plane before anything ran.
void Derived::show_plane(std::size_t i) {
  Shown& shown = shown_[i];
  const PlaneKey key{playback_.runners()[i].simulation, shown.operations != nullptr ? shown.operations->domain.plane : 0};
  const PlaneFacts* facts = planes_.find(key);
  if (facts == nullptr) ask_for_plane(i, key);
  shown.lane.reference = facts != nullptr ? facts->reference : nullptr;
  shown.lane.tile_accesses = facts != nullptr ? facts->tile_accesses : nullptr;
}

/// After another SM was chosen: a simulation comes with the timeline of its own. Laying out hundreds of thousands of intervals
/// takes longer than a frame may.
void Derived::show_timeline(std::size_t i) {
  Lane& lane = shown_[i].lane;
  const TimelineKey key{playback_.runners()[i].simulation, lane.focus_sm};
  const auto* made = timelines_.find(key);
  lane.timeline = made != nullptr ? *made : nullptr;
  if (made != nullptr || timelines_under_way_[i] == key) return;
  timelines_under_way_[i] = key;
  worker_.submit(Queue::shown, slots::first_timeline + static_cast<int>(i), WorkKind::timeline,
                 [this, i, key](const Progress&) -> Worker::Deliver {
                   return [this, i, key, laid_out = lay_out_timeline_of(key)] {
                     if (timelines_under_way_[i] != key) return;
                     timelines_under_way_[i].reset();
                     timelines_.put(key, laid_out);
                   };
                 });
}

}  // namespace tilescope
