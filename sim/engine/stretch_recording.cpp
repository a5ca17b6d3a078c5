// Describes the state of an SM as a key, and notes down what it does until its next load.
#include "sim/engine/stretch_recording.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/engine/recorder.h"

namespace tilescope {

bool describe(const RunningSm& sm, double time, StretchKey& key) {
  const auto from_time = [time](double moment) { return moment > time ? moment - time : 0; };
  for (const ResidentGroup& group : sm.groups)
    if (group.stream != nullptr && !group.position_at(group.next_load).is_known()) return false;
  std::fill_n(key.slots.begin(), sm.groups.size(), StretchSlot{});
  std::transform(sm.free.begin(), sm.free.begin() + key.free.size(), key.free.begin(), from_time);
  key.memory_free = from_time(sm.memory_pipe.free);
  key.copies_free = from_time(sm.memory_pipe.copies_free);
  key.parity = order_of(time) & 1;
  for (std::size_t i = 0; i < sm.groups.size(); ++i) {
    const ResidentGroup& group = sm.groups[i];
    if (group.stream == nullptr) continue;
    StretchSlot& slot = key.slots[i];
    slot.position = group.position_at(group.next_load);
    slot.compute_end = from_time(group.compute_end);
    slot.load_time = from_time(group.load_time());
    slot.issue_rate = group.issue_rate;
    if (group.sliced != 0) {
      slot.sliced_end = from_time(group.sliced_end);
      slot.flags |= StretchSlot::is_sliced | std::uint64_t{group.slices} << StretchSlot::slices_shift;
    }
    if (sm.issue_order.is_oldest(i)) slot.flags |= StretchSlot::is_oldest;
    // Loads are in order, but the signals that they wait for need not be: a later load may have its signal before an earlier one.
    const auto given = static_cast<std::size_t>(group.next_signal - group.times - group.stream->signal(0));
    const std::uint32_t reach = group.stream->reach[given];
    if (reach > group.next_load + StretchPositions::loads_ahead) return false;
    for (std::uint32_t load = group.next_load + 1; load < reach; ++load) {
      const double signalled = group.times[group.loads[load].after];
      if (signalled == ResidentGroup::never) continue;
      const std::uint32_t n = load - group.next_load - 1;
      slot.signals[n] = from_time(signalled);
      slot.flags |= StretchSlot::first_signal << n;
    }
  }
  return true;
}

void StretchRecording::begin(const RunningSm& sm, double time, const StretchKey& key) {
  for (std::size_t i = 0; i < sm.groups.size(); ++i) signals_at_start_[i] = sm.groups[i].next_signal;
  stretch_ = {.key = key};
  from_ = time;
  is_on_ = is_kept_ = true;
}

void StretchRecording::note_wait(std::uint32_t slot, const ResidentGroup& group, ScheduledOp op) {
  if (op.wait == OperationStream::at_once || group.times[op.wait] == ResidentGroup::never) return;
  // The stretch is valid only if the data landed before the operation first asked for them.
  const double deadline = std::max(group.compute_end, from_);
  is_kept_ = is_kept_ && group.times[op.wait] <= deadline && stretch_.deadline_count < Stretch::most_deadlines;
  if (!is_kept_) return;
  const std::int32_t moment = op.wait - OperationStream::landing(group.next_load);
  stretch_.deadlines[stretch_.deadline_count++] = {slot, moment, deadline - from_};
}

void StretchRecording::note_operation(const ResidentGroup& group, ScheduledOp op, double from, double to) {
  note_wait(group.slot, group, op);
  ++stretch_.operations_of[group.slot];
  stretch_.operations.push_back({op.number(), from - from_, to - from_});
}

std::optional<Stretch> StretchRecording::end(const RunningSm& sm, double next, double latest_end) {
  is_on_ = false;
  constexpr double never = ResidentGroup::never;
  Stretch& s = stretch_;
  if (!is_kept_ || sm.next->next != ResidentGroup::Next::load || next == never) return std::nullopt;
  for (std::uint32_t i = 0; i < sm.groups.size(); ++i) {
    const ResidentGroup& group = sm.groups[i];
    if (group.stream == nullptr) continue;
    if (s.operations_of[i] >= StretchPositions::operations_ahead || group.next_compute == group.op_count) return std::nullopt;
    note_wait(i, group, group.ops[group.next_compute]);
    s.signals_of[i] = static_cast<std::uint16_t>(group.next_signal - signals_at_start_[i]);
  }
  if (!is_kept_ || !describe(sm, from_, s.end)) return std::nullopt;
  s.cycles = next - from_;
  s.next_slot = sm.next->slot;
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
    if (op.op_class >= Recorder::counted_classes) return std::nullopt;
    std::uint32_t at = 0;
    while (at < s.class_count && s.counts[at].op_class != op.op_class) ++at;
    if (at == Stretch::most_counts) return std::nullopt;
    s.counts[at].op_class = static_cast<std::uint16_t>(op.op_class);
    ++s.counts[at].count;
    s.class_count = std::max(s.class_count, at + 1);
  }
  s.latest = std::max(s.latest, s.last);
  if (from_ + s.latest >= latest_end) return std::nullopt;
  return std::move(s);
}

}  // namespace tilescope
