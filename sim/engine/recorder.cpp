// The recorder's bins, budgets and events.
#include "sim/engine/recorder.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

constexpr int most_focused_sms = 8;  // on a GPU this small, every SM is in focus
constexpr std::size_t many_intervals = 1 << 16;
constexpr double first_width = 16;  // cycles; a power of two, so that a bin's edges are exact

/// Calls f(tensor, link, bytes) for each flow of an operation except HBM's.
template <class F>
void for_each_flow(const OpClass& op, F&& f) {
  if (!op.moves) return;
  if (reads_memory(op.kind)) f(op.tensor, Link::l2_to_sm, op.bytes);
  if (writes_memory(op.kind)) f(op.tensor, Link::sm_to_l2, op.bytes);
  for (std::size_t i = 0; i < 2; ++i)
    if (op.smem_read[i] != 0) f(op.smem_read_tensor[i], Link::smem_read, op.smem_read[i]);
  if (op.smem_write != 0) f(op.smem_write_tensor, Link::smem_write, op.smem_write);
}

}  // namespace

Recorder::Recorder(int sm_count, int focus_sm, std::span<const Tensor> tensors, const ScheduleBuilder& builder,
                   std::span<const int> also)
    : builder_(builder),
      tensors_(tensors.begin(), tensors.end()),
      focus_sm_(focus_sm),
      focus_of_(static_cast<std::size_t>(sm_count), -1) {
  data_.sm_count = sm_count;
  data_.bins.width = first_width;
  bins_a_cycle_ = 1 / first_width;
  for (int sm = 0; sm < sm_count; ++sm) {
    if (sm != focus_sm && sm_count > most_focused_sms && std::find(also.begin(), also.end(), sm) == also.end()) continue;
    focus_of_[static_cast<std::size_t>(sm)] = static_cast<int>(data_.focus.size());
    data_.focus.push_back({sm, {}, {}, {}, {}});
  }
}

std::int32_t Recorder::begin_run(const BlockRun& run) {
  if (data_.runs.size() >= most_runs && focus_of_[static_cast<std::size_t>(run.sm)] < 0) return -1;
  data_.runs.push_back(run);
  return static_cast<std::int32_t>(data_.runs.size()) - 1;
}

void Recorder::end_run(std::int32_t run, double end) {
  if (run >= 0) data_.runs[static_cast<std::size_t>(run)].end = end;
}

void Recorder::interval(int sm, const Interval& interval, const TileRef& tile, std::int32_t iteration, std::int32_t ring,
                        ChipTile chip_tile) {
  const int focus = focus_of_[static_cast<std::size_t>(sm)];
  if (focus < 0) return;
  FocusedSm& focused = data_.focus[static_cast<std::size_t>(focus)];
  // Many intervals become more. Reserved pages cost nothing until used, while each reallocation would copy them all.
  if (focused.intervals.size() == many_intervals) {
    focused.intervals.reserve(most_intervals / data_.focus.size());
    focused.notes.reserve(most_intervals / data_.focus.size());
  }
  focused.add(interval, tile, iteration, ring, chip_tile);
  if (++interval_count_ == most_intervals) narrow_focus();
}

void Recorder::narrow_focus() {
  if (data_.focus.size() < 2) return;
  FocusedSm kept = std::move(data_.focus[static_cast<std::size_t>(focus_of_[static_cast<std::size_t>(focus_sm_)])]);
  data_.focus.clear();
  data_.focus.push_back(std::move(kept));
  std::fill(focus_of_.begin(), focus_of_.end(), -1);
  focus_of_[static_cast<std::size_t>(focus_sm_)] = 0;
  interval_count_ = data_.focus.front().intervals.size();
}

std::size_t Recorder::grow(double time) {
  auto bin = static_cast<std::size_t>(time * bins_a_cycle_);
  while (bin >= most_bins) {
    merge_bins();
    bin = static_cast<std::size_t>(time * bins_a_cycle_);
  }
  TimeBins& bins = data_.bins;
  if (bin >= bins.traffic.size()) {
    const std::size_t size = std::min(most_bins, std::max(bin + 1, bins.traffic.size() * 2));
    bins.traffic.resize(size);
    bins.busy_cycles.resize(size);
    bins.l2.resize(size);
    counts_.resize(size);
  }
  counted_bins_ = data_.exact ? 0 : counts_.size();
  return bin;
}

bool Recorder::move_groups(std::int64_t bin, double time) {
  if (data_.exact) return false;
  add_up_groups();
  if (bin_of(time) != static_cast<std::size_t>(bin)) return false;
  const bool is_last = static_cast<std::size_t>(bin) + 1 == counts_.size();
  group_bin_ = is_last ? bin - 1 : bin;
  return true;
}

void Recorder::add_up_groups() {
  for (Group& group : groups_)
    for (const std::int64_t bin : {group_bin_, group_bin_ + 1})
      if (const std::uint32_t times = std::exchange(group.times[bin & 1], 0); times > 0)
        for (const auto& [op_class, count] : group.counts) counts_[static_cast<std::size_t>(bin)][op_class] += times * count;
}

void Recorder::merge_bins() {
  add_up_groups();
  group_bin_ = -2;
  TimeBins& bins = data_.bins;
  bins.width *= 2;
  bins_a_cycle_ /= 2;
  // A missing partner of the last bin counts as zero traffic and unchanged L2 contents.
  const std::size_t old_size = bins.traffic.size(), size = (old_size + 1) / 2;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t a = 2 * i, b = 2 * i + 1;
    for (std::size_t t = 0; t < most_tensors; ++t)
      for (std::size_t l = 0; l < link_count; ++l)
        bins.traffic[i][t][l] = bins.traffic[a][t][l] + (b < old_size ? bins.traffic[b][t][l] : 0);
    for (std::size_t u = 0; u < unit_count; ++u)
      bins.busy_cycles[i][u] = bins.busy_cycles[a][u] + (b < old_size ? bins.busy_cycles[b][u] : 0);
    for (std::size_t c = 0; c < counted_classes; ++c) counts_[i][c] = counts_[a][c] + (b < old_size ? counts_[b][c] : 0);
    bins.l2[i] = bins.l2[std::min(b, old_size - 1)];
  }
  bins.traffic.resize(size);
  bins.busy_cycles.resize(size);
  bins.l2.resize(size);
  counts_.resize(size);
  l2_bin_ /= 2;  // a bin with only its first half known is filled again
  l2_end_ = 0;   // the next access finds it
}

void Recorder::fill_l2(std::size_t bin, const CacheContents& contents) {
  for (; l2_bin_ < bin; ++l2_bin_) data_.bins.l2[l2_bin_] = contents;
  l2_end_ = static_cast<double>(l2_bin_ + 1) * data_.bins.width;
}

void Recorder::busy(Unit unit, double start, double end, std::size_t last) {
  const auto first = static_cast<std::size_t>(start * bins_a_cycle_);
  const auto u = static_cast<std::size_t>(unit);
  auto& cycles = data_.bins.busy_cycles;
  if (first == last) {
    cycles[first][u] += end - start;
    return;
  }
  const double width = data_.bins.width;
  cycles[first][u] += static_cast<double>(first + 1) * width - start;
  for (std::size_t bin = first + 1; bin < last; ++bin) cycles[bin][u] += width;
  cycles[last][u] += end - static_cast<double>(last) * width;
}

void Recorder::operation_slowly(std::uint32_t op_class, double start, double busy_end, double end, double streams) {
  const std::size_t bin = bin_of(end);
  if (Counts* const counts = counts_between(start, end); counts != nullptr && op_class < counted_classes) {  // a new bin
    ++(*counts)[op_class];
    return;
  }
  const OpClass& op = builder_.op_class(op_class);
  busy(op.unit, start, busy_end, busy_end == end ? bin : bin_of(busy_end));
  for_each_flow(op, [&](Tensor tensor, Link link, std::int64_t bytes) { add(bin, end, tensor, link, bytes, streams); });
}

void Recorder::spread_counts() {
  for (std::size_t bin = 0; bin < counts_.size(); ++bin)
    for (std::uint32_t c = 0; c < counted_classes; ++c) {
      const std::int64_t count = counts_[bin][c];
      if (count == 0) continue;
      const OpClass& op = builder_.op_class(c);
      data_.bins.busy_cycles[bin][static_cast<std::size_t>(op.unit)] += static_cast<double>(count) * op.busy_cycles;
      for_each_flow(op, [&](Tensor tensor, Link link, std::int64_t bytes) {
        data_.bins.traffic[bin][tensor.index()][static_cast<std::size_t>(link)] += count * bytes;
      });
    }
}

void Recorder::event(double time, Tensor tensor, Link link, std::int64_t bytes, double streams) {
  if (data_.traffic.size() >= most_events) return drop_events();
  data_.traffic.push_back({time, bytes, tensor, link, static_cast<float>(streams)});
  data_.longest_stream = std::max(data_.longest_stream, streams);
}

void Recorder::note_l2(double time, const CacheContents& now) {
  for (Tensor tensor : tensors_) {
    const auto t = tensor.index();
    const L2Event change{time, now.resident[t] - noted_.resident[t], now.copies[t] - noted_.copies[t],
                         now.dirty[t] - noted_.dirty[t], tensor};
    if (change.resident != 0 || change.copies != 0 || change.dirty != 0) data_.l2.push_back(change);
  }
  noted_ = now;
  if (data_.l2.size() >= most_events) drop_events();
}

void Recorder::drop_events() {
  data_.exact = false;
  counted_bins_ = counts_.size();
  data_.traffic = {};
  data_.l2 = {};
}

TraceData Recorder::finish(double end, std::vector<LaunchTime> launches, const TrafficTable& total, const CacheContents& contents) {
  const std::size_t last = bin_of(end);
  add_up_groups();
  spread_counts();
  fill_l2(last + 1, contents);
  // grow() makes bins in advance; drop the unused ones.
  TimeBins& bins = data_.bins;
  bins.traffic.resize(last + 1);
  bins.busy_cycles.resize(last + 1);
  bins.l2.resize(last + 1);
  data_.end_cycle = end;
  data_.launches = std::move(launches);
  data_.total = total;
  return std::move(data_);
}

}  // namespace tilescope
