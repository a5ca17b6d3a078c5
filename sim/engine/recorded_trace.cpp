// Builds the indices of a trace, and answers queries about steps.
#include "sim/engine/recorded_trace.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace tilescope {

namespace {

/// Sorts stably by insertion, which is fast because a trace is nearly sorted. If it takes too many steps, std::stable_sort goes on.
template <class Less>
void sort_nearly_sorted(std::vector<std::uint32_t>& order, const Less& less) {
  std::size_t steps_left = 16 * order.size();
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::uint32_t moved = order[i];
    std::size_t at = i;
    for (; at > 0 && steps_left > 0 && less(moved, order[at - 1]); --at, --steps_left) order[at] = order[at - 1];
    order[at] = moved;
    if (steps_left == 0) return std::stable_sort(order.begin(), order.end(), less);
  }
}

}  // namespace

std::string_view to_string(WaitCause cause) {
  constexpr std::array<std::string_view, 13> names = {"none",    "program order", "data",          "buffer", "tensor core",
                                                      "exp",     "scale, sum",    "shared memory", "L2",     "HBM",
                                                      "barrier", "block slot",    "launch"};
  return names[static_cast<std::size_t>(cause)];
}

RecordedTrace::RecordedTrace(TraceData data) : data_(std::move(data)) {
  for (FocusedSm& focus : data_.focus) order_focus(focus);
  for (const FocusedSm& focus : data_.focus) {
    focused_.push_back(focus.sm);
    index_.emplace_back().data = &focus;
    index_focus(index_.back());
  }
  index_runs();
  index_events();
}

void RecordedTrace::order_focus(FocusedSm& focus) const {
  std::vector<Index> order(focus.intervals.size());
  std::iota(order.begin(), order.end(), Index{0});
  const auto& intervals = focus.intervals;
  sort_nearly_sorted(order, [&](Index a, Index b) {
    // Operations of zero length come before others with the same start.
    const bool a_lasts = intervals[a].end > intervals[a].start, b_lasts = intervals[b].end > intervals[b].start;
    return std::tie(intervals[a].start, a_lasts, intervals[a].run, intervals[a].op) <
           std::tie(intervals[b].start, b_lasts, intervals[b].run, intervals[b].op);
  });
  // Permute in place, cycle by cycle: few elements move.
  for (Index first = 0; first < order.size(); ++first) {
    if (order[first] == first) continue;
    const Interval interval = focus.intervals[first];
    const OpNote note = focus.notes[first];
    Index at = first;
    for (Index from = order[at]; from != first; at = std::exchange(from, order[from])) {
      focus.intervals[at] = focus.intervals[from];
      focus.notes[at] = focus.notes[from];
      order[at] = at;
    }
    focus.intervals[at] = interval;
    focus.notes[at] = note;
    order[at] = at;
  }
}

void RecordedTrace::index_focus(SmIndex& index) const {
  const auto& intervals = index.data->intervals;
  index.steps.resize(intervals.size());
  std::iota(index.steps.begin(), index.steps.end(), Index{0});
  sort_nearly_sorted(index.steps, [&](Index a, Index b) { return intervals[a].end < intervals[b].end; });
  for (Index i = 0; i < intervals.size(); ++i) {
    const Unit unit = intervals[i].unit;
    if (unit == Unit::copy || unit == Unit::store) {
      index.transfers.push_back(i);
      index.latest_end.push_back(std::max(intervals[i].end, index.latest_end.empty() ? 0 : index.latest_end.back()));
    } else {
      index.units[static_cast<std::size_t>(unit)].push_back(i);
    }
  }
  // Order by run, then by operation. Counting sort first: within a run, time order is nearly operation order.
  std::vector<Index> by_op(intervals.size()), next_of_run(data_.runs.size() + 1, 0);
  for (const Interval& interval : intervals) ++next_of_run[static_cast<std::size_t>(interval.run) + 1];
  std::partial_sum(next_of_run.begin(), next_of_run.end(), next_of_run.begin());
  for (Index i = 0; i < intervals.size(); ++i) by_op[next_of_run[static_cast<std::size_t>(intervals[i].run)]++] = i;
  sort_nearly_sorted(by_op, [&](Index a, Index b) {
    return std::tie(intervals[a].run, intervals[a].op) < std::tie(intervals[b].run, intervals[b].op);
  });
  index_buffers(index, by_op);
  index_boundaries(index, by_op);
}

void RecordedTrace::index_buffers(SmIndex& index, const std::vector<Index>& by_op) const {
  const auto& intervals = index.data->intervals;
  const auto& notes = index.data->notes;
  std::vector<Index> filling;
  for (std::size_t begin = 0, end = 0; begin < by_op.size(); begin = end) {
    const std::int32_t run = intervals[by_op[begin]].run;
    filling.clear();
    for (end = begin; end < by_op.size() && intervals[by_op[end]].run == run; ++end)
      if (!writes_memory(intervals[by_op[end]].kind) && notes[by_op[end]].chip_tile != 0) filling.push_back(by_op[end]);
    std::stable_sort(filling.begin(), filling.end(), [&](Index a, Index b) {
      return std::tie(notes[a].chip_tile, notes[a].ring) < std::tie(notes[b].chip_tile, notes[b].ring);
    });
    RunRecord record{run, static_cast<Index>(index.buffers.size()), 0};
    for (Index i : filling) {
      const bool same = index.buffers.size() > record.first_buffer && index.buffers.back().chip_tile == index.data->chip_tile(i) &&
                        index.buffers.back().ring == notes[i].ring;
      const auto at = static_cast<Index>(index.writers.size());
      if (!same) index.buffers.push_back({index.data->chip_tile(i), notes[i].ring, at, at});
      index.writers.push_back(i);
      index.buffers.back().last = at + 1;
    }
    record.last_buffer = static_cast<Index>(index.buffers.size());
    index.runs.push_back(record);
  }
}

void RecordedTrace::index_boundaries(SmIndex& index, const std::vector<Index>& by_op) const {
  const auto& intervals = index.data->intervals;
  const auto& notes = index.data->notes;
  std::vector<std::int64_t> step_of(intervals.size());
  for (std::size_t i = 0; i < index.steps.size(); ++i) step_of[index.steps[i]] = static_cast<std::int64_t>(i) + 1;
  // An iteration begins with its first operation that is no load, because loads are issued far ahead.
  std::int32_t run = -1, iteration = 0;
  bool fresh = false;
  for (Index i : by_op) {
    if (intervals[i].run != run) {
      run = intervals[i].run;
      fresh = true;
    }
    if (intervals[i].kind == OpKind::load) continue;
    if (fresh || notes[i].iteration != iteration) index.tile_steps.push_back(step_of[i]);
    iteration = notes[i].iteration;
    fresh = false;
  }
  std::sort(index.tile_steps.begin(), index.tile_steps.end());
  std::int32_t launch = -1;
  for (std::size_t i = 0; i < index.steps.size(); ++i) {
    const std::int32_t now = data_.runs[static_cast<std::size_t>(intervals[index.steps[i]].run)].launch;
    if (now != launch) index.phase_steps.push_back(static_cast<std::int64_t>(i) + 1);
    launch = now;
  }
}

void RecordedTrace::index_runs() {
  for (const BlockRun& run : data_.runs) slots_ = std::max(slots_, run.slot + 1);
  const auto list_of = [&](const BlockRun& run) {
    return static_cast<std::size_t>(run.sm) * static_cast<std::size_t>(slots_) + static_cast<std::size_t>(run.slot);
  };
  first_of_list_.assign(static_cast<std::size_t>(data_.sm_count) * static_cast<std::size_t>(slots_) + 1, 0);
  for (const BlockRun& run : data_.runs) ++first_of_list_[list_of(run) + 1];
  std::partial_sum(first_of_list_.begin(), first_of_list_.end(), first_of_list_.begin());
  run_lists_.resize(data_.runs.size());
  std::vector<std::size_t> next(first_of_list_.begin(), first_of_list_.end() - 1);
  for (std::size_t i = 0; i < data_.runs.size(); ++i) run_lists_[next[list_of(data_.runs[i])]++] = static_cast<std::int32_t>(i);
}

void RecordedTrace::index_events() {
  TrafficTable sum{};
  if (!data_.exact) {
    for (const TrafficTable& bin : data_.bins.traffic) {
      traffic_sums_.push_back(sum);
      for (std::size_t t = 0; t < most_tensors; ++t)
        for (std::size_t l = 0; l < link_count; ++l) sum[t][l] += bin[t][l];
    }
    return;
  }
  std::stable_sort(data_.traffic.begin(), data_.traffic.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  for (std::size_t i = 0; i < data_.traffic.size(); ++i) {
    if (i % events_a_sum == 0) traffic_sums_.push_back(sum);
    const TrafficEvent& event = data_.traffic[i];
    sum[event.tensor.index()][static_cast<std::size_t>(event.link)] += event.bytes;
  }
  CacheContents contents;
  for (std::size_t i = 0; i < data_.l2.size(); ++i) {
    if (i % events_a_sum == 0) l2_sums_.push_back(contents);
    data_.l2[i].change(contents);
  }
}

const RecordedTrace::SmIndex* RecordedTrace::find(int sm) const {
  for (const SmIndex& index : index_)
    if (index.data->sm == sm) return &index;
  return nullptr;
}

std::span<const Interval> RecordedTrace::intervals(int sm) const {
  const SmIndex* index = find(sm);
  return index == nullptr ? std::span<const Interval>() : std::span<const Interval>(index->data->intervals);
}

std::int64_t RecordedTrace::step_count(int sm) const {
  const SmIndex* index = find(sm);
  return index == nullptr ? 0 : static_cast<std::int64_t>(index->steps.size());
}

std::int64_t RecordedTrace::last_step_by(const SmIndex& index, double cycle) const {
  const auto& intervals = index.data->intervals;
  const auto after =
      std::partition_point(index.steps.begin(), index.steps.end(), [&](Index i) { return intervals[i].end <= cycle; });
  return after - index.steps.begin();
}

std::int64_t RecordedTrace::step_at_cycle(int sm, double cycle) const {
  const SmIndex* index = find(sm);
  return index == nullptr ? 0 : last_step_by(*index, cycle);
}

std::int64_t RecordedTrace::step_of_interval(int sm, std::size_t interval) const {
  const SmIndex* index = find(sm);
  if (index == nullptr || interval >= index->data->intervals.size()) return 0;
  const auto& intervals = index->data->intervals;
  const auto before = std::partition_point(index->steps.begin(), index->steps.end(), [&](Index i) {
    return intervals[i].end < intervals[interval].end || (intervals[i].end == intervals[interval].end && i < interval);
  });
  return before - index->steps.begin() + 1;
}

std::int64_t RecordedTrace::seek(int sm, std::int64_t from, Grain grain, int direction) const {
  const SmIndex* index = find(sm);
  if (index == nullptr) return 0;
  const auto count = static_cast<std::int64_t>(index->steps.size());
  from = std::clamp<std::int64_t>(from, 0, count);
  if (direction == 0) return from;
  if (grain == Grain::operation) return std::clamp<std::int64_t>(from + (direction > 0 ? 1 : -1), 0, count);
  const std::vector<std::int64_t>& begins = grain == Grain::tile ? index->tile_steps : index->phase_steps;
  if (direction > 0) {
    const auto next = std::upper_bound(begins.begin(), begins.end(), from);
    return next == begins.end() ? count : *next;
  }
  const auto here = std::lower_bound(begins.begin(), begins.end(), from);
  return here == begins.begin() ? 0 : *(here - 1);
}

TraceState RecordedTrace::state_at(int sm, std::int64_t step) const {
  const SmIndex* index = find(sm);
  step = std::clamp<std::int64_t>(step, 0, step_count(sm));
  const Interval* interval = step > 0 ? &step_interval(*index, step) : nullptr;
  TraceState state = machine_at(index, interval != nullptr ? interval->end : 0);
  state.step = step;
  if (interval != nullptr) {
    state.run = interval->run;
    state.op = interval->op;
    state.interval = *interval;
    state.launch = data_.runs[static_cast<std::size_t>(interval->run)].launch;
  }
  return state;
}

TraceState RecordedTrace::state_at_cycle(int sm, double cycle) const {
  const SmIndex* index = find(sm);
  cycle = std::clamp(cycle, 0.0, data_.end_cycle);
  TraceState state = machine_at(index, cycle);
  if (index == nullptr) return state;
  state.step = last_step_by(*index, cycle);
  if (state.step > 0) {
    const Interval& interval = step_interval(*index, state.step);
    state.run = interval.run;
    state.op = interval.op;
    state.interval = interval;
  }
  return state;
}

}  // namespace tilescope
