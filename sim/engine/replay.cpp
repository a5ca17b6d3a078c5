// Machine's recording and replaying of stretches (see stretches.h).
#include <algorithm>
#include <utility>

#include "sim/engine/machine.h"

namespace tilescope {

namespace {

constexpr std::size_t most_stretches = 1 << 15;
// If less than half of a trial's loads find a stretch, the next loads do not look for one.
constexpr int loads_of_a_trial = 4096, loads_of_a_rest = 1 << 17;
constexpr std::uint64_t is_sliced = 1, is_oldest = 2, first_signal = 4;
constexpr int slices_shift = 32;

}  // namespace

bool Machine::key_of(const Sm& sm, double time, StretchKey& key) {
  const auto from_time = [time](double moment) { return moment > time ? moment - time : 0; };
  for (const ResidentGroup& group : sm.slots)
    if (group.stream != nullptr && !position_of(group, group.next_load).is_known()) return false;
  std::fill_n(key.slots.begin(), sm.slots.size(), StretchSlot{});
  std::transform(sm.free.begin(), sm.free.begin() + key.free.size(), key.free.begin(), from_time);
  key.memory_free = from_time(sm.memory_pipe.free);
  key.copies_free = from_time(sm.memory_pipe.copies_free);
  key.parity = order_of(time) & 1;
  for (std::size_t i = 0; i < sm.slots.size(); ++i) {
    const ResidentGroup& group = sm.slots[i];
    if (group.stream == nullptr) continue;
    StretchSlot& slot = key.slots[i];
    slot.position = position_of(group, group.next_load);
    slot.compute_end = from_time(group.compute_end);
    slot.load_time = from_time(load_time(group));
    slot.issue_rate = group.issue_rate;
    if (group.sliced != 0) {
      slot.sliced_end = from_time(group.sliced_end);
      slot.flags |= is_sliced | std::uint64_t{group.slices} << slices_shift;
    }
    if (sm.issue_order.is_oldest(i)) slot.flags |= is_oldest;
    // Loads are in order, but the signals that they wait for need not be: a later load may have its signal before an earlier one.
    const auto given = static_cast<std::size_t>(group.next_signal - group.times - group.stream->signal(0));
    const std::uint32_t reach = group.stream->reach[given];
    if (reach > group.next_load + StretchPositions::loads_ahead) return false;
    for (std::uint32_t load = group.next_load + 1; load < reach; ++load) {
      const double signalled = group.times[group.loads[load].after];
      if (signalled == never) continue;
      const std::uint32_t n = load - group.next_load - 1;
      slot.signals[n] = from_time(signalled);
      slot.flags |= first_signal << n;
    }
  }
  return true;
}

bool Machine::may_replay(const Sm& sm) const {
  return sm.slots.size() <= most_stretch_slots && std::all_of(sm.slots.begin(), sm.slots.end(), [](const ResidentGroup& group) {
           return group.stream == nullptr ||
                  (!group.stream->positions.empty() && !group.focused && group.tokens_of_compute == nullptr);
         });
}

void Machine::note_wait(std::uint32_t slot, const ResidentGroup& group, ScheduledOp op) {
  if (op.wait == OperationStream::at_once || group.times[op.wait] == never) return;
  // The stretch is valid only if the data landed before the operation first asked for them.
  const double deadline = std::max(group.compute_end, recorded_from_);
  is_kept_ = is_kept_ && group.times[op.wait] <= deadline && recorded_.deadline_count < Stretch::most_deadlines;
  if (!is_kept_) return;
  const std::int32_t moment = op.wait - OperationStream::landing(group.next_load);
  recorded_.deadlines[recorded_.deadline_count++] = {slot, moment, deadline - recorded_from_};
}

void Machine::note_operation(const ResidentGroup& group, ScheduledOp op, double from, double to) {
  note_wait(group.slot, group, op);
  ++recorded_.operations_of[group.slot];
  recorded_.operations.push_back({op.number(), from - recorded_from_, to - recorded_from_});
}

std::int32_t Machine::keep_stretch(const Sm& sm, double time, double next, const ResidentGroup& next_block) {
  Stretch& s = recorded_;
  if (!is_kept_ || next_block.next != Next::load || next == never) return -1;
  for (std::uint32_t i = 0; i < sm.slots.size(); ++i) {
    const ResidentGroup& group = sm.slots[i];
    if (group.stream == nullptr) continue;
    if (s.operations_of[i] >= StretchPositions::operations_ahead || group.next_compute == group.op_count) return -1;
    note_wait(i, group, group.ops[group.next_compute]);
    s.signals_of[i] = static_cast<std::uint16_t>(group.next_signal - signals_at_start_[i]);
  }
  if (!is_kept_ || !key_of(sm, time, s.end)) return -1;
  s.cycles = next - time;
  s.next_slot = next_block.slot;
  s.latest = std::max({s.cycles, s.end.memory_free, s.end.copies_free});
  for (const double free : s.end.free) s.latest = std::max(s.latest, free);
  for (const StretchSlot& slot : s.end.slots) {
    s.latest = std::max({s.latest, slot.compute_end, slot.sliced_end});
    for (const double signal : slot.signals) s.latest = std::max(s.latest, signal);
    if (slot.load_time < never) s.latest = std::max(s.latest, slot.load_time);
  }
  s.first = never;
  for (const StretchOperation& op : s.operations) {
    s.first = std::min(s.first, op.from);
    s.last = std::max(s.last, op.to);
    if (op.op_class >= Recorder::counted_classes) return -1;
    std::uint32_t at = 0;
    while (at < s.class_count && s.counts[at].op_class != op.op_class) ++at;
    if (at == Stretch::most_counts) return -1;
    s.counts[at].op_class = static_cast<std::uint16_t>(op.op_class);
    ++s.counts[at].count;
    s.class_count = std::max(s.class_count, at + 1);
  }
  s.latest = std::max(s.latest, s.last);
  if (time + s.latest >= binade_end_) return -1;
  return stretches_.add(std::move(s));
}

double Machine::go_on(int sm_index, double time) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const std::int32_t before = std::exchange(sm.stretch, -1);
  if (resting_ > 0) {
    --resting_;
    return run_ahead(sm_index);
  }
  StretchKey& key = recorded_.key;
  if (!may_replay(sm) || !key_of(sm, time, key)) return run_ahead(sm_index);
  if (++looked_for_ == loads_of_a_trial) {
    if (found_ < looked_for_ / 2) resting_ = loads_of_a_rest;
    looked_for_ = found_ = 0;
  }
  const std::int32_t number = stretches_.find(key);
  if (number >= 0) {
    if (before >= 0) stretches_[before].successor = number;
    return is_in_time(sm, stretches_[number], time) ? accept(sm, number, time) : run_ahead(sm_index);
  }
  if (stretches_.size() == most_stretches) {
    begin_binade(time);
    return run_ahead(sm_index);
  }
  for (std::size_t i = 0; i < sm.slots.size(); ++i) signals_at_start_[i] = sm.slots[i].next_signal;
  recorded_ = {.key = key};
  recorded_from_ = time;
  is_recording_ = is_kept_ = true;
  const double next = run_ahead(sm_index);
  is_recording_ = false;
  sm.stretch = keep_stretch(sm, time, next, *next_of_sm_[static_cast<std::size_t>(sm_index)]);
  if (before >= 0 && sm.stretch >= 0) stretches_[before].successor = sm.stretch;
  return next;
}

void Machine::record_stretch(const Stretch& stretch, double time) {
  if (recorder_.move_near(time + stretch.first, time + stretch.last)) {
    for (std::uint32_t i = 0; i < stretch.class_count; ++i)
      recorder_.count_near(stretch.counts[i].op_class, stretch.counts[i].count);
  } else {
    for (const StretchOperation& op : stretch.operations)
      recorder_.operation(op.op_class, time + op.from, time + op.to, time + op.to);
  }
}

double Machine::accept(Sm& sm, std::int32_t number, double time) {
  const Stretch& stretch = stretches_[number];
  record_stretch(stretch, time);
  advance(sm, stretch);
  ++replayed_;
  ++found_;
  sm.stretch = number;
  sm.since = time;
  sm.is_behind = true;
  return time + stretch.cycles;
}

bool Machine::replay(int sm_index, double time, double& next) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const Stretch& before = stretches_[sm.stretch];
  const std::uint32_t loading = before.next_slot;
  const std::int32_t successor = before.successor;
  bool goes_on = successor >= 0;
  const std::size_t count = sm.slots.size();
  for (std::size_t i = 0; goes_on && i < count; ++i) {
    const ResidentGroup& group = sm.slots[i];
    goes_on = group.stream == nullptr ||
              position_of(group, group.next_load + (i == loading ? 1 : 0)) == stretches_[successor].key.slots[i].position;
  }
  if (!goes_on) {
    catch_up(sm_index);
    return false;
  }
  ResidentGroup& group = sm.slots[loading];
  const double landed = memory_.load(sm_index, time, group.loads[group.next_load], group.origin).end;
  next = land_in_stretch(sm_index, group, successor, time, landed);
  return true;
}

double Machine::land_in_stretch(int sm_index, ResidentGroup& group, std::int32_t number, double time, double landed) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  const Stretch& stretch = stretches_[number];
  const std::uint32_t at = group.next_load++;
  const OpTiming& timing = builder_.timings()[group.loads[at].op_class];
  const Transfer transfer{.end = landed};  // the rest is for blocks in focus
  if (timing.smem_cycles > 0) landed = std::max(landed, time + stretch.key.copies_free + gpu_.l2_latency_cycles);
  note_landing(group, at, timing, landed);
  if (is_in_time(sm, stretch, time)) {
    group.issued = time;
    group.drained = std::max(group.drained, landed);
    return accept(sm, number, time);
  }
  --group.next_load;
  catch_up(sm_index);
  ++group.next_load;
  land(sm_index, group, time, at, transfer);
  refresh(sm, group);
  sm.stretch = -1;
  return run_ahead(sm_index);
}

void Machine::catch_up(int sm_index) {
  Sm& sm = sms_[static_cast<std::size_t>(sm_index)];
  if (!std::exchange(sm.is_behind, false)) return;
  const StretchKey& end = stretches_[sm.stretch].end;
  const double time = sm.since;
  std::transform(end.free.begin(), end.free.end(), sm.free.begin(), [time](double cycles) { return time + cycles; });
  sm.memory_pipe = {time + end.memory_free, time + end.copies_free};
  for (std::size_t i = 0; i < sm.slots.size(); ++i) {
    ResidentGroup& group = sm.slots[i];
    if (group.stream == nullptr) continue;
    const StretchSlot& slot = end.slots[i];
    group.compute_end = time + slot.compute_end;
    group.issue_rate = slot.issue_rate;
    group.sliced = slot.flags & is_sliced;
    group.slices = static_cast<std::uint8_t>(slot.flags >> slices_shift);
    group.sliced_end = group.sliced != 0 ? time + slot.sliced_end : 0;
    const auto note = [&](std::uint32_t load, double cycles) {
      if (const std::int32_t after = group.loads[load].after; after != OperationStream::at_once) group.times[after] = time + cycles;
    };
    if (slot.load_time < never) note(group.next_load, slot.load_time);
    for (std::uint32_t n = 0; n < slot.signals.size(); ++n)
      if ((slot.flags & first_signal << n) != 0) note(group.next_load + 1 + n, slot.signals[n]);
    refresh(sm, group);
  }
  run_ahead(sm_index);  // finds the next block
}

void Machine::begin_binade(double time) {
  leave_all_periods(time);
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) {
    catch_up(static_cast<int>(sm));
    sms_[sm].stretch = -1;
  }
  recorder_.forget_groups();
  stretches_.clear(sms_.front().slots.size());
  binade_end_ = 1;
  while (binade_end_ <= time) binade_end_ *= 2;
}

}  // namespace tilescope
