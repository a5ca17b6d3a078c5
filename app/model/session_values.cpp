// The session's work on values: those of the blocks that are shown, and what is known of their planes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/model/session_state.h"
#include "app/model/stage_facts.h"
#include "app/model/timeline_data.h"
#include "sim/numerics/inputs.h"

namespace tilescope {

namespace {

/// nullptr where the program has no output to hold against it, or where a row of the plane would keep a frame waiting.
std::shared_ptr<const ReferencePlane> make_reference(const TileProgram& program, const InputSource& inputs, std::int64_t plane) {
  const auto outputs = program.outputs();
  if (std::none_of(outputs.begin(), outputs.end(), [](Tensor tensor) { return tensor.means(Meaning::output); })) return nullptr;
  if (program.problem().seq_kv * program.problem().head_dim > most_checked_elements) return nullptr;
  return std::make_shared<const ReferencePlane>(program, inputs, plane);
}

/// The block that comes next on the SM that a lane shows.
std::optional<BlockKey> next_block(const LaneState& lane) {
  const Trace& trace = *lane.simulation->trace;
  const auto run = static_cast<std::size_t>(std::max(0, lane.lane.rest.run));
  constexpr std::size_t looked_at = 4096;  // blocks start on all SMs in turn: the next one on this SM is near, or there is none
  const std::size_t end = std::min(trace.runs().size(), run + looked_at);
  for (std::size_t next = lane.operations == nullptr ? run : run + 1; next < end; ++next) {
    const BlockRun& block = trace.runs()[next];
    if (block.sm == lane.lane.focus_sm) return BlockKey{lane.simulation, block.launch, block.block};
  }
  return std::nullopt;
}

}  // namespace

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

namespace {

/// Longer than this a step does not wait for its values: it is shown without them.
constexpr double longest_wait_for_values = 0.25;

/// The operations after which the values of a step are looked at: its own and the one before, what its iteration began with, and
/// the loads that filled the buffers there are.
ValuesKey values_of_step(std::shared_ptr<const BlockHistory> history, const BlockOperations& block, const TraceState& state, int op,
                         int values_op) {
  ValuesKey values{std::move(history), {}};
  const auto add = [&](int at) {
    if (at >= 0 && std::find(values.ops.begin(), values.ops.end(), at) == values.ops.end()) values.ops.push_back(at);
  };
  const auto& operations = block.operations;
  add(values_op);
  add(values_op - 1);
  int begin = values_op;
  while (begin >= 0 &&
         operations[static_cast<std::size_t>(begin)].iteration == operations[static_cast<std::size_t>(values_op)].iteration)
    --begin;
  add(begin);
  add(op);
  for (const SlotState& slot : state.slots)
    if (slot.run == state.run && slot.valid) add(slot.op);
  return values;
}

}  // namespace

bool Session::State::at_hand(std::size_t slot, const ValuesKey& values) const {
  if (values.history->keeps_everything() || values_brought[slot] == values) return true;
  for (const int op : values.ops)
    for (Slot tile : values.history->operations().tiles)
      if (!values.history->at_hand(tile, op)) return false;
  return true;
}

/// Runs the iterations again that the values of a large block come from, so that the frame finds them there.
void Session::State::ask_for_values(std::size_t slot, const ValuesKey& values) {
  if (values_asked[slot] == values) return;
  values_asked[slot] = values;
  errands->submit(first_values_slot + static_cast<int>(slot), {},
                  [this, slot, values](const Progress& progress) -> Worker::Deliver {
                    bool all = true;
                    for (const int op : values.ops)
                      for (Slot tile : values.history->operations().tiles) {
                        if (!(all = all && progress(0))) break;
                        values.history->value(tile, op);
                      }
                    return [this, slot, values, all] {
                      if (values_asked[slot] == values) values_asked[slot] = {};
                      if (all) values_brought[slot] = values;
                    };
                  });
}

/// True while the step is not to be shown yet.
bool Session::State::waits_for_values(std::size_t i, const BlockRun& run, const BlockOperations& block, const TraceState& rest,
                                      int values_op) {
  LaneState& lane = lanes[i];
  const auto* history = histories.find(BlockKey{lane.simulation, run.launch, run.block});
  std::optional<ValuesKey> values;  // that are not at hand
  if (history != nullptr && lane.lane.simulation != nullptr) values = values_of_step(*history, block, rest, rest.op, values_op);
  if (!values || at_hand(i, *values)) {
    lane.values_since = -1;
    return false;
  }
  ask_for_values(i, *values);
  if (lane.values_since < 0) lane.values_since = clock_seconds;
  return clock_seconds - lane.values_since < longest_wait_for_values;
}

/// Of the iteration after the one that is shown.
void Session::State::ask_for_next_values(const LaneState& lane) {
  const auto& operations = lane.operations->operations;
  auto op = static_cast<std::size_t>(std::max(0, lane.lane.values_op));
  const std::int32_t iteration = operations[op].iteration;
  const auto later = [&](const Operation& next) { return next.kind != OpKind::load && next.iteration != iteration; };
  op = static_cast<std::size_t>(std::find_if(operations.begin() + static_cast<std::ptrdiff_t>(op), operations.end(), later) -
                                operations.begin());
  if (op == operations.size()) return;
  const ValuesKey values{lane.lane.history, {static_cast<int>(op)}};
  if (!at_hand(values_slots - 1, values)) ask_for_values(values_slots - 1, values);
}

InputSource Session::State::fitting_inputs(const AttentionProblem& problem, std::string* misfit) const {
  InputSource out = inputs;
  for (auto member : {&InputSource::q, &InputSource::k, &InputSource::v}) {
    InputSource only;
    only.*member = inputs.*member;
    if (const Status status = check(only, problem); !status) {
      out.*member = nullptr;
      if (misfit != nullptr && misfit->empty()) *misfit = status.error().sentence;
    }
  }
  return out;
}

void Session::State::forget_values() {
  histories.clear();
  values_asked = values_brought = {};
  planes.clear();
  nothing_under_way();
}

void Session::State::forget_values_of_others() {
  const auto gone = [&](const auto& key) {
    return std::none_of(lanes.begin(), lanes.end(), [&](const LaneState& lane) { return lane.simulation == key.simulation; });
  };
  histories.erase_if(gone);
  values_asked = values_brought = {};
  planes.erase_if(gone);
  timelines.erase_if(gone);
  blocks.erase_if(gone);
}

void Session::State::nothing_under_way() {
  for (auto& under_way : histories_under_way) under_way.reset();
  for (auto& under_way : planes_under_way) under_way.reset();
  for (auto& under_way : timelines_under_way) under_way.reset();
  compare_asked = nullptr;
}

void Session::State::ask_for_history(int slot, const BlockKey& key) {
  auto& under_way = histories_under_way[slot];
  if (under_way == key) return;
  under_way = key;
  const InputSource source = fitting_inputs(key.simulation->request.problem, nullptr);
  worker->submit(first_history_slot + slot, tr("working out the values"),
                 [this, slot, key, source](const Progress& progress) -> Worker::Deliver {
                   auto made = run_block(*key.simulation->program, source, key.launch, key.block, progress);
                   return [this, slot, key, history = made ? *made : nullptr] {
                     auto& waiting = histories_under_way[slot];
                     if (waiting != key) return;  // asked for something else meanwhile
                     waiting.reset();
                     if (history) histories.put(key, history);
                   };
                 });
}

void Session::State::ask_for_plane(int slot, const PlaneKey& key) {
  auto& under_way = planes_under_way[slot];
  if (under_way == key) return;
  under_way = key;
  const InputSource source = fitting_inputs(key.simulation->request.problem, nullptr);
  worker->submit(first_plane_slot + slot, tr("working out the values"),
                 [this, slot, key, source](const Progress&) -> Worker::Deliver {
                   const PlaneFacts facts{make_reference(*key.simulation->program, source, key.plane),
                                          std::make_shared<const TileHistory>(*key.simulation, key.plane)};
                   return [this, slot, key, facts] {
                     auto& waiting = planes_under_way[slot];
                     if (waiting != key) return;
                     waiting.reset();
                     planes.put(key, facts);
                   };
                 });
}

/// After another SM was chosen: a simulation comes with the timeline of its own. Laying out hundreds of thousands of intervals
/// takes longer than a frame may.
void Session::State::show_timeline(int slot, LaneState& lane) {
  const TimelineKey key{lane.simulation, lane.lane.focus_sm};
  const auto* made = timelines.find(key);
  lane.lane.timeline = made != nullptr ? *made : nullptr;
  auto& under_way = timelines_under_way[slot];
  if (made != nullptr || under_way == key) return;
  under_way = key;
  worker->submit(first_timeline_slot + slot, tr("laying out the timeline"), [this, slot, key](const Progress&) -> Worker::Deliver {
    return [this, slot, key, laid_out = lay_out_timeline_of(key)] {
      auto& waiting = timelines_under_way[slot];
      if (waiting != key) return;
      waiting.reset();
      timelines.put(key, laid_out);
    };
  });
}

/// What is known of the plane of the step's block; of the first plane before anything ran.
void Session::State::show_plane(int slot, LaneState& lane) {
  const PlaneKey key{lane.simulation, lane.operations != nullptr ? lane.operations->domain.plane : 0};
  const PlaneFacts* facts = planes.find(key);
  if (facts == nullptr) ask_for_plane(slot, key);
  lane.lane.reference = facts != nullptr ? facts->reference : nullptr;
  lane.lane.tile_history = facts != nullptr ? facts->tile_history : nullptr;
}

/// The values of the blocks that are shown, then of the block that comes next on the same SM, so that stepping finds them ready.
void Session::State::ask_for_histories() {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    LaneState& lane = lanes[i];
    show_timeline(static_cast<int>(i), lane);
    show_plane(static_cast<int>(i), lane);
    if (lane.operations == nullptr) {
      lane.lane.history = nullptr;
      continue;
    }
    const BlockKey key{lane.simulation, lane.operations->launch, lane.operations->block};
    const auto* history = histories.find(key);
    lane.lane.history = history != nullptr ? *history : nullptr;
    if (lane.lane.history == nullptr) {
      ask_for_history(static_cast<int>(i), key);
    } else if (const ValuesKey values =
                   values_of_step(*history, *lane.operations, lane.lane.state, lane.lane.rest.op, lane.lane.values_op);
               !at_hand(i, values)) {
      ask_for_values(i, values);
      // A load that has just landed is shown when it is there; without the rest there is nothing to show.
      if (!at_hand(i, values_of_step(*history, *lane.operations, lane.lane.rest, lane.lane.rest.op, lane.lane.values_op)))
        lane.lane.history = nullptr;
    }
    if (lane.lane.history != nullptr && i + 1 == lanes.size())
      choose_row(lane.lane.simulation->program->schema(), *lane.lane.history, lane.lane.rest.op);
  }
  const LaneState& lane = lanes.back();
  if (lane.lane.history != nullptr && !lane.lane.history->keeps_everything()) ask_for_next_values(lane);
  const std::optional<BlockKey> next = next_block(lane);
  if (!next) return;
  ask_for_next_block(lane, *next);
  if (lane.operations != nullptr && lane.lane.history == nullptr) return;
  if (!histories.holds(*next)) ask_for_history(history_slots - 1, *next);
}

/// Until a row is clicked, the row that shows most: the one whose sum and output this block scales nearest to a half.
void Session::State::choose_row(const Schema& schema, const BlockHistory& history, int op) {
  if (row_chosen) return;
  row_chosen = true;
  const Slot factor = schema.tile(Meaning::row_max, TilePart::factor);
  if (factor == Slot::none) return;
  const std::shared_ptr<const Matrix> alpha = history.value(factor, op);
  if (alpha == nullptr) return;
  const auto distance = [](float a) { return std::fabs(a - 0.5F); };
  const auto& values = alpha->values;
  const auto best = std::min_element(values.begin(), values.end(), [&](float a, float b) { return distance(a) < distance(b); });
  if (best != values.end()) row = static_cast<int>(best - values.begin());
}

}  // namespace tilescope
