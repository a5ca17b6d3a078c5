// Looks for the stretch that begins in the state of an SM, records one where there is none, and replays it.
#include "sim/engine/replay.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tilescope {

namespace {

constexpr std::size_t most_stretches = 1 << 15;
// If less than half of a trial's loads find a stretch, the next loads do not look for one.
constexpr int loads_of_a_trial = 4096, loads_of_a_rest = 1 << 17;

}  // namespace

void Replay::begin_launch() {
  in_stretch_.assign(runner_.sms().size(), {});
  binade_end_ = 0;
}

bool Replay::may_replay(const RunningSm& sm) const {
  return sm.groups.size() <= most_stretch_slots && std::all_of(sm.groups.begin(), sm.groups.end(), [](const ResidentGroup& group) {
           return group.stream == nullptr ||
                  (!group.stream->positions.empty() && !group.focused && group.tokens_of_compute == nullptr);
         });
}

double Replay::go_on(std::size_t number, double time) {
  RunningSm& sm = runner_.sms()[number];
  InStretch& in = in_stretch_[number];
  const std::int32_t before = std::exchange(in.stretch, -1);
  if (resting_ > 0) {
    --resting_;
    return runner_.run_ahead(sm);
  }
  if (!may_replay(sm) || !describe(sm, time, key_)) return runner_.run_ahead(sm);
  if (++looked_for_ == loads_of_a_trial) {
    if (found_ < looked_for_ / 2) resting_ = loads_of_a_rest;
    looked_for_ = found_ = 0;
  }
  const std::int32_t known = stretches_.find(key_);
  if (known >= 0) {
    if (before >= 0) stretches_[before].successor = known;
    return is_in_time(sm, stretches_[known], time) ? accept(number, known, time) : runner_.run_ahead(sm);
  }
  if (stretches_.size() == most_stretches) {
    binade_end_ = 0;  // the next event begins with an empty table
    return runner_.run_ahead(sm);
  }
  StretchRecording& recording = runner_.recording();
  recording.begin(sm, time, key_);
  const double next = runner_.run_ahead(sm);
  if (std::optional<Stretch> stretch = recording.end(sm, next, binade_end_)) {
    in.stretch = stretches_.add(std::move(*stretch));
    if (before >= 0) stretches_[before].successor = in.stretch;
  }
  return next;
}

void Replay::record_stretch(const Stretch& stretch, double time) {
  if (Recorder::Counts* const counts = recorder_.counts_between(time + stretch.first, time + stretch.last)) {
    for (std::uint32_t i = 0; i < stretch.class_count; ++i) (*counts)[stretch.counts[i].op_class] += stretch.counts[i].count;
  } else {
    for (const StretchOperation& op : stretch.operations)
      recorder_.operation(op.op_class, time + op.from, time + op.to, time + op.to);
  }
}

double Replay::accept(std::size_t sm, std::int32_t number, double time) {
  const Stretch& stretch = stretches_[number];
  record_stretch(stretch, time);
  advance(runner_.sms()[sm], stretch);
  count_replayed(1);
  in_stretch_[sm] = {number, time, true};
  return time + stretch.cycles;
}

bool Replay::replay(std::size_t number, double time, double& next) {
  const std::int32_t current = in_stretch_[number].stretch;
  if (current < 0) return false;
  RunningSm& sm = runner_.sms()[number];
  const Stretch& before = stretches_[current];
  const std::uint32_t loading = before.next_slot;
  const std::int32_t successor = before.successor;
  bool goes_on = successor >= 0;
  const std::size_t count = sm.groups.size();
  for (std::size_t i = 0; goes_on && i < count; ++i) {
    const ResidentGroup& group = sm.groups[i];
    goes_on = group.stream == nullptr ||
              group.position_at(group.next_load + (i == loading ? 1 : 0)) == stretches_[successor].key.slots[i].position;
  }
  if (!goes_on) {
    catch_up(number);
    return false;
  }
  ResidentGroup& group = sm.groups[loading];
  const double landed = memory_.load(sm.number, time, group.loads[group.next_load], group.origin).end;
  next = land_in_stretch(number, group, successor, time, landed);
  return true;
}

double Replay::land_in_stretch(std::size_t number, ResidentGroup& group, std::int32_t successor, double time, double landed) {
  RunningSm& sm = runner_.sms()[number];
  const Stretch& stretch = stretches_[successor];
  const std::uint32_t at = group.next_load++;
  const OpTiming& timing = builder_.timings()[group.loads[at].op_class];
  const Transfer transfer{.end = landed};  // the rest is for blocks in focus
  if (timing.smem_cycles > 0) landed = std::max(landed, time + stretch.key.copies_free + l2_latency_cycles_);
  runner_.note_landing(group, at, timing, landed);
  if (is_in_time(sm, stretch, time)) {
    group.issued = time;
    group.drained = std::max(group.drained, landed);
    return accept(number, successor, time);
  }
  --group.next_load;
  catch_up(number);
  ++group.next_load;
  runner_.land(sm, group, time, at, transfer);
  runner_.refresh(sm, group);
  return run_ahead(number);
}

void Replay::catch_up(std::size_t number) {
  InStretch& in = in_stretch_[number];
  if (!std::exchange(in.is_behind, false)) return;
  RunningSm& sm = runner_.sms()[number];
  const StretchKey& end = stretches_[in.stretch].end;
  const double time = in.since;
  std::transform(end.free.begin(), end.free.end(), sm.free.begin(), [time](double cycles) { return time + cycles; });
  sm.memory_pipe = {time + end.memory_free, time + end.copies_free};
  for (std::size_t i = 0; i < sm.groups.size(); ++i) {
    ResidentGroup& group = sm.groups[i];
    if (group.stream == nullptr) continue;
    const StretchSlot& slot = end.slots[i];
    group.compute_end = time + slot.compute_end;
    group.issue_rate = slot.issue_rate;
    group.sliced = slot.flags & StretchSlot::is_sliced;
    group.slices = static_cast<std::uint8_t>(slot.flags >> StretchSlot::slices_shift);
    group.sliced_end = group.sliced != 0 ? time + slot.sliced_end : 0;
    const auto note = [&](std::uint32_t load, double cycles) {
      if (const std::int32_t after = group.loads[load].after; after != OperationStream::at_once) group.times[after] = time + cycles;
    };
    if (slot.load_time < never) note(group.next_load, slot.load_time);
    for (std::uint32_t n = 0; n < slot.signals.size(); ++n)
      if ((slot.flags & StretchSlot::first_signal << n) != 0) note(group.next_load + 1 + n, slot.signals[n]);
    runner_.refresh(sm, group);
  }
  runner_.run_ahead(sm);  // finds the next group
}

void Replay::begin_binade(double time) {
  for (std::size_t sm = 0; sm < in_stretch_.size(); ++sm) {
    catch_up(sm);
    in_stretch_[sm].stretch = -1;
  }
  recorder_.forget_groups();
  stretches_.clear(runner_.sms().front().groups.size());
  binade_end_ = 1;
  while (binade_end_ <= time) binade_end_ *= 2;
}

}  // namespace tilescope
