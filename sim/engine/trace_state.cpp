// RecordedTrace's state of the whole machine at one moment.
//
// A transfer that ends at the moment has landed. A block or an operation is still shown at its end, so that its result is visible.
#include <algorithm>
#include <cmath>

#include "sim/engine/recorded_trace.h"

namespace tilescope {

namespace {

double part(double cycle, double start, double end) {
  return end > start ? std::clamp((cycle - start) / (end - start), 0.0, 1.0) : 1;
}

/// The part of the bytes that have crossed of a transfer that ends at `end`.
double crossing(double cycle, double end, double streams) {
  if (cycle >= end) return 1;
  return streams > 0 ? std::clamp(1 - (end - cycle) / streams, 0.0, 1.0) : 0;
}

bool same(const TileInFlight& a, const TileInFlight& b) {
  return a.tile == b.tile && a.to_sm == b.to_sm && a.adds == b.adds && a.progress == b.progress && a.sm == b.sm &&
         a.chip_tile == b.chip_tile && a.bytes == b.bytes && a.hbm_bytes == b.hbm_bytes;
}

bool same(const ChipTileState& a, const ChipTileState& b) {
  return a.chip_tile == b.chip_tile && a.ring == b.ring && a.run == b.run && a.valid == b.valid && a.arriving == b.arriving &&
         a.progress == b.progress && a.tile == b.tile && a.op == b.op;
}

bool same(const SmState& a, const SmState& b) {
  return a.run == b.run && a.resident == b.resident && a.progress == b.progress && a.busy_units == b.busy_units;
}

bool same(const Interval& a, const Interval& b) {
  return a.start == b.start && a.end == b.end && a.ready == b.ready && a.run == b.run && a.op == b.op && a.kind == b.kind &&
         a.unit == b.unit && a.cause == b.cause && a.bytes == b.bytes && a.hbm_bytes == b.hbm_bytes;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
}

}  // namespace

bool TraceState::operator==(const TraceState& other) const {
  return step == other.step && cycle == other.cycle && launch == other.launch && run == other.run && op == other.op &&
         interval.has_value() == other.interval.has_value() && (!interval || same(*interval, *other.interval)) &&
         same(sms, other.sms) && same(flights, other.flights) && same(chip_tiles, other.chip_tiles) && traffic == other.traffic &&
         traffic_exact == other.traffic_exact && l2 == other.l2;
}

TraceState RecordedTrace::machine_at(const SmIndex* index, double cycle) const {
  TraceState state;
  state.cycle = cycle;
  for (std::size_t i = 1; i < data_.launches.size() && data_.launches[i].start <= cycle; ++i) state.launch = static_cast<int>(i);
  add_sms(state);
  for (const SmIndex& focused : index_) add_flights(state, focused);
  if (index != nullptr) add_chip_tiles(state, *index);
  add_traffic(state);
  return state;
}

void RecordedTrace::add_sms(TraceState& state) const {
  state.sms.resize(static_cast<std::size_t>(data_.sm_count));
  for (std::size_t sm = 0; sm < state.sms.size(); ++sm) {
    SmState& shown = state.sms[sm];
    for (std::size_t list = sm * static_cast<std::size_t>(slots_); list < (sm + 1) * static_cast<std::size_t>(slots_); ++list) {
      const auto first = run_lists_.begin() + static_cast<std::ptrdiff_t>(first_of_list_[list]);
      const auto last = run_lists_.begin() + static_cast<std::ptrdiff_t>(first_of_list_[list + 1]);
      const auto after = std::partition_point(
          first, last, [&](std::int32_t run) { return data_.runs[static_cast<std::size_t>(run)].start < state.cycle; });
      if (after == first) continue;
      const std::int32_t run = *(after - 1);
      if (data_.runs[static_cast<std::size_t>(run)].end < state.cycle) continue;
      ++shown.resident;
      if (shown.run < 0 || run < shown.run) shown.run = run;
    }
    if (shown.run < 0) continue;
    const BlockRun& run = data_.runs[static_cast<std::size_t>(shown.run)];
    shown.progress = part(state.cycle, run.start, run.end);
  }
  for (const SmIndex& index : index_)
    state.sms[static_cast<std::size_t>(index.data->sm)].busy_units = busy_units(index, state.cycle);
}

std::uint8_t RecordedTrace::busy_units(const SmIndex& index, double cycle) const {
  const auto& intervals = index.data->intervals;
  unsigned bits = 0;
  for (std::size_t unit = 0; unit < unit_count; ++unit) {
    const std::vector<Index>& list = index.units[unit];
    const auto after = std::partition_point(list.begin(), list.end(), [&](Index i) { return intervals[i].start < cycle; });
    if (after != list.begin() && intervals[*(after - 1)].end >= cycle) bits |= 1U << unit;
  }
  const auto after =
      std::partition_point(index.transfers.begin(), index.transfers.end(), [&](Index i) { return intervals[i].start < cycle; });
  for (auto at = after - index.transfers.begin(); at > 0 && index.latest_end[static_cast<std::size_t>(at - 1)] >= cycle; --at) {
    const Interval& interval = intervals[index.transfers[static_cast<std::size_t>(at - 1)]];
    if (interval.end >= cycle) bits |= 1U << static_cast<unsigned>(interval.unit);
  }
  return static_cast<std::uint8_t>(bits);
}

void RecordedTrace::add_flights(TraceState& state, const SmIndex& index) const {
  const auto& intervals = index.data->intervals;
  const std::size_t before = state.flights.size();
  const auto after = std::partition_point(index.transfers.begin(), index.transfers.end(),
                                          [&](Index i) { return intervals[i].start < state.cycle; });
  for (auto at = after - index.transfers.begin(); at > 0 && index.latest_end[static_cast<std::size_t>(at - 1)] > state.cycle;
       --at) {
    const Index i = index.transfers[static_cast<std::size_t>(at - 1)];
    const Interval& interval = intervals[i];
    if (interval.end <= state.cycle) continue;
    TileInFlight flight;
    flight.tile = index.data->tile(i);
    flight.to_sm = interval.kind == OpKind::load;
    flight.adds = adds_to_memory(interval.kind);
    flight.progress = crossing(state.cycle, interval.end, interval.streams);
    flight.sm = index.data->sm;
    flight.chip_tile = index.data->chip_tile(i);
    flight.bytes = interval.bytes;
    flight.hbm_bytes = interval.hbm_bytes;
    state.flights.push_back(flight);
  }
  std::reverse(state.flights.begin() + static_cast<std::ptrdiff_t>(before), state.flights.end());
}

void RecordedTrace::add_chip_tiles(TraceState& state, const SmIndex& index) const {
  const auto& intervals = index.data->intervals;
  const auto sm = static_cast<std::size_t>(index.data->sm);
  std::vector<std::int32_t> resident;
  for (std::size_t list = sm * static_cast<std::size_t>(slots_); list < (sm + 1) * static_cast<std::size_t>(slots_); ++list)
    for (std::size_t i = first_of_list_[list + 1]; i > first_of_list_[list]; --i) {
      const BlockRun& run = data_.runs[static_cast<std::size_t>(run_lists_[i - 1])];
      if (run.end < state.cycle) break;
      if (run.start < state.cycle) resident.push_back(run_lists_[i - 1]);
    }
  std::sort(resident.begin(), resident.end());
  for (std::int32_t run : resident) {
    const auto record =
        std::lower_bound(index.runs.begin(), index.runs.end(), run, [](const RunRecord& r, std::int32_t id) { return r.run < id; });
    if (record == index.runs.end() || record->run != run) continue;
    for (Index b = record->first_buffer; b < record->last_buffer; ++b) {
      const Buffer& buffer = index.buffers[b];
      const auto first = index.writers.begin() + buffer.first, last = index.writers.begin() + buffer.last;
      // An operation that takes no time has begun when it is over.
      const auto after = std::partition_point(
          first, last, [&](Index i) { return intervals[i].start < state.cycle || intervals[i].end <= state.cycle; });
      if (after == first) continue;
      const Index i = *(after - 1);
      ChipTileState chip_tile{buffer.chip_tile, buffer.ring, run, true, false, 1, index.data->tile(i), intervals[i].op};
      if (intervals[i].end > state.cycle) {
        chip_tile.arriving = true;
        const bool loads = intervals[i].kind == OpKind::load;
        chip_tile.progress = loads ? crossing(state.cycle, intervals[i].end, intervals[i].streams)
                                   : part(state.cycle, intervals[i].start, intervals[i].end);
        // A load overwrites the old contents; an operation works on them.
        chip_tile.valid = !loads && after - first > 1;
      }
      state.chip_tiles.push_back(chip_tile);
    }
  }
}

void RecordedTrace::add_traffic(TraceState& state) const {
  state.traffic_exact = data_.exact;
  if (data_.exact) return add_traffic_from_events(state);
  if (state.cycle >= data_.end_cycle) {
    state.traffic = data_.total;
    state.traffic_exact = true;
    state.l2 = data_.bins.l2.back();
    return;
  }
  add_traffic_from_bins(state);
}

void RecordedTrace::add_traffic_from_events(TraceState& state) const {
  const auto until =
      std::partition_point(data_.traffic.begin(), data_.traffic.end(), [&](const auto& e) { return e.time <= state.cycle; });
  const auto count = static_cast<std::size_t>(until - data_.traffic.begin());
  if (count > 0) {
    std::size_t i = (count - 1) / events_a_sum;
    state.traffic = traffic_sums_[i];
    for (i *= events_a_sum; i < count; ++i) {
      const TrafficEvent& event = data_.traffic[i];
      state.traffic[event.tensor.index()][static_cast<std::size_t>(event.link)] += event.bytes;
    }
  }
  // An event is noted when its last byte has crossed; the part before counts as it crosses.
  for (auto event = until; event != data_.traffic.end() && event->time < state.cycle + data_.longest_stream; ++event) {
    const double part = crossing(state.cycle, event->time, event->streams);
    state.traffic[event->tensor.index()][static_cast<std::size_t>(event->link)] +=
        static_cast<std::int64_t>(part * static_cast<double>(event->bytes));
  }
  const auto l2_until = std::partition_point(data_.l2.begin(), data_.l2.end(), [&](const auto& e) { return e.time < state.cycle; });
  const auto l2_count = static_cast<std::size_t>(l2_until - data_.l2.begin());
  if (l2_count == 0) return;
  std::size_t i = (l2_count - 1) / events_a_sum;
  state.l2 = l2_sums_[i];
  for (i *= events_a_sum; i < l2_count; ++i) data_.l2[i].change(state.l2);
}

void RecordedTrace::add_traffic_from_bins(TraceState& state) const {
  const TimeBins& bins = data_.bins;
  const std::size_t bin = std::min(static_cast<std::size_t>(state.cycle / bins.width), bins.traffic.size() - 1);
  const double into = std::min(1.0, state.cycle / bins.width - static_cast<double>(bin));
  const auto between = [&](std::int64_t from, std::int64_t to) {
    return from + std::llround(into * static_cast<double>(to - from));
  };
  state.traffic = traffic_sums_[bin];
  const CacheContents &now = bins.l2[bin], before = bin > 0 ? bins.l2[bin - 1] : CacheContents{};
  for (std::size_t t = 0; t < most_tensors; ++t) {
    for (std::size_t l = 0; l < link_count; ++l) state.traffic[t][l] += between(0, bins.traffic[bin][t][l]);
    state.l2.resident[t] = between(before.resident[t], now.resident[t]);
    state.l2.copies[t] = between(before.copies[t], now.copies[t]);
    state.l2.dirty[t] = between(before.dirty[t], now.dirty[t]);
  }
}

}  // namespace tilescope
