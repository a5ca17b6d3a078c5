// Lanes, sub-tracks and running sums for the timeline.
#include "app/model/run_data/timeline_data.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/analysis/link_bins.h"

namespace tilescope {
namespace {

constexpr int most_tracks = 6;  // loads beyond that many in flight share the last one

void assign_tracks(UnitLane& lane) {
  std::array<double, most_tracks> free_at;
  free_at.fill(-1);
  for (LaneBar& bar : lane.bars) {
    int track = 0;
    while (track + 1 < most_tracks && free_at[static_cast<std::size_t>(track)] > bar.start + 1e-9) ++track;
    bar.track = track;
    free_at[static_cast<std::size_t>(track)] = std::max(free_at[static_cast<std::size_t>(track)], bar.end);
    lane.tracks = std::max(lane.tracks, track + 1);
  }
}

void add_to_series(LaneSeries& series, double start, double end) {
  if (!series.ends.empty() && start <= series.ends.back()) {
    series.ends.back() = std::max(series.ends.back(), end);
    return;
  }
  const double before = series.starts.empty() ? 0 : series.before.back() + series.ends.back() - series.starts.back();
  series.starts.push_back(start);
  series.ends.push_back(end);
  series.before.push_back(before);
}

}  // namespace

double LaneSeries::busy_until(double cycle, std::size_t& hint) const {
  // Callers walk forward, so the answer is usually a few entries on: gallop from the last one, then search between.
  std::size_t low = hint < starts.size() && starts[hint] <= cycle ? hint : 0, step = 1;
  while (low + step < starts.size() && starts[low + step] <= cycle) {
    low += step;
    step *= 2;
  }
  const auto from = starts.begin() + static_cast<std::ptrdiff_t>(low);
  const auto to = starts.begin() + static_cast<std::ptrdiff_t>(std::min(low + step, starts.size()));
  const auto after = static_cast<std::size_t>(std::upper_bound(from, to, cycle) - starts.begin());
  if (after == 0) return 0;
  hint = after - 1;
  return before[hint] + std::min(cycle, ends[hint]) - starts[hint];
}

double LaneSeries::busy_between(double from, double to) const {
  std::size_t hint = 0;
  const double first = busy_until(from, hint);
  return busy_until(to, hint) - first;
}

std::pair<std::size_t, std::size_t> UnitLane::visible(double from, double to) const {
  const auto first = std::lower_bound(latest_end.begin(), latest_end.end(), from) - latest_end.begin();
  const auto last = std::upper_bound(bars.begin(), bars.end(), to, [](double t, const LaneBar& bar) { return t < bar.start; });
  return {static_cast<std::size_t>(first),
          std::max(static_cast<std::size_t>(first), static_cast<std::size_t>(last - bars.begin()))};
}

double BandwidthCurve::rate_between(double from, double to) const {
  if (before.size() < 2 || to <= from) return 0;
  const auto bytes_before = [this](double cycle) {
    const double at = std::clamp(cycle / bin_width, 0.0, static_cast<double>(before.size() - 1));
    const auto bin = std::min(static_cast<std::size_t>(at), before.size() - 2);
    return before[bin] + (before[bin + 1] - before[bin]) * (at - static_cast<double>(bin));
  };
  return (bytes_before(to) - bytes_before(from)) / (to - from);
}

UnitLane make_lane(Unit unit, std::vector<LaneBar> bars, std::span<const StepLabel> labels) {
  UnitLane lane;
  lane.unit = unit;
  lane.bars = std::move(bars);
  assign_tracks(lane);
  std::array<LaneSeries, most_tensors> by_tensor;  // by index; the empty handle shares the first
  double latest = 0;
  lane.latest_end.reserve(lane.bars.size());
  for (const LaneBar& bar : lane.bars) {
    latest = std::max(latest, bar.end);
    lane.latest_end.push_back(latest);
    const Tensor tensor = labels[static_cast<std::size_t>(bar.interval)].tensor;
    by_tensor[tensor.index()].tensor = tensor;
    add_to_series(by_tensor[tensor.index()], bar.start, bar.end);
  }
  for (LaneSeries& series : by_tensor)
    if (!series.starts.empty()) lane.series.push_back(std::move(series));
  return lane;
}

BandwidthCurve make_curve(const TimeBins& bins, std::span<const std::vector<double>> by_link, double ceiling) {
  BandwidthCurve curve;
  curve.bin_width = std::max(bins.width, 1e-9);
  curve.ceiling = ceiling;
  curve.before.reserve(bins.traffic.size() + 1);
  curve.before.push_back(0);
  for (std::size_t bin = 0; bin < bins.traffic.size(); ++bin) {
    double bytes = 0;
    for (const std::vector<double>& link : by_link) bytes += link[bin];
    curve.before.push_back(curve.before.back() + bytes);
  }
  return curve;
}

namespace {

bool has_roles(const Simulation& simulation) {
  const auto launches = simulation.program->launches();
  return launches.size() == 1 && launches.front().needs.groups.size() > 1;
}

/// Returns the lanes of a simulation, without bars.
std::vector<UnitLane> empty_lanes(const Simulation& simulation) {
  std::vector<UnitLane> lanes;
  if (!has_roles(simulation)) {
    for (const Unit unit : timeline_units) lanes.emplace_back().unit = unit;
    return lanes;
  }
  const std::vector<WarpGroup>& groups = simulation.program->launches().front().needs.groups;
  const auto add_group = [&](std::size_t group, Unit unit, std::string_view name) {
    UnitLane& lane = lanes.emplace_back();
    lane.unit = unit;
    lane.group = static_cast<int>(group);
    lane.asks = unit == Unit::copy;
    lane.name = name;
  };
  const bool producer = !groups[0].computes;
  lanes.emplace_back().unit = Unit::copy;
  add_group(0, Unit::copy, producer ? groups[0].name : "one thread");
  lanes.emplace_back().unit = Unit::tensor;
  for (std::size_t group = producer ? 1 : 0; group < groups.size(); ++group) add_group(group, Unit::exp, groups[group].name);
  lanes.emplace_back().unit = Unit::exp;
  lanes.emplace_back().unit = Unit::store;
  return lanes;
}

/// Shortens bars of copies to the time in which their thread asks for them: until it is ready to ask for the next one. The last
/// copy of a block takes as long as the last of the same tile.
void cut_to_requests(std::vector<LaneBar>& bars, std::span<const Interval> intervals, std::span<const StepLabel> labels) {
  std::map<std::int32_t, std::size_t> latest;  // by run: the bar before
  std::map<ChipTile, double> taken;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto of = static_cast<std::size_t>(bars[i].interval);
    const auto [before, is_first] = latest.try_emplace(intervals[of].run, i);
    if (!is_first) {
      LaneBar& bar = bars[before->second];
      bar.end = std::clamp(intervals[of].ready, bar.start, bar.end);
      taken[labels[static_cast<std::size_t>(bar.interval)].chip_tile] = bar.end - bar.start;
      before->second = i;
    }
  }
  for (const auto& [run, last] : latest) {
    LaneBar& bar = bars[last];
    const auto known = taken.find(labels[static_cast<std::size_t>(bar.interval)].chip_tile);
    bar.end = std::min(bar.end, bar.start + (known != taken.end() ? known->second : 0));
  }
}

}  // namespace

TimelineData make_timeline(const Simulation& simulation, std::shared_ptr<const StepIndex> steps) {
  TimelineData data;
  data.steps = std::move(steps);
  data.end = simulation.trace->end_cycle();
  const auto intervals = simulation.trace->intervals(data.steps->sm);
  data.lanes = empty_lanes(simulation);
  std::vector<std::vector<LaneBar>> bars(data.lanes.size());
  for (std::size_t i = 0; i < intervals.size(); ++i)
    for (std::size_t lane = 0; lane < bars.size(); ++lane)
      if (data.lanes[lane].shows(intervals[i]))
        bars[lane].push_back({intervals[i].start, intervals[i].end, static_cast<std::int32_t>(i), 0});
  for (std::size_t lane = 0; lane < bars.size(); ++lane) {
    if (data.lanes[lane].asks) cut_to_requests(bars[lane], intervals, data.steps->labels);
    UnitLane made = make_lane(data.lanes[lane].unit, std::move(bars[lane]), data.steps->labels);
    made.group = data.lanes[lane].group;
    made.asks = data.lanes[lane].asks;
    made.name = data.lanes[lane].name;
    data.lanes[lane] = std::move(made);
  }
  if (has_roles(simulation)) data.bubbles = tensor_bubbles(simulation, data.steps->sm);
  const GpuSpec& gpu = simulation.request.gpu;
  const TimeBins& bins = simulation.trace->bins();
  const double hbm = hbm_peak(gpu);
  data.hbm = make_curve(bins, link_bytes_by_bin(bins, std::array{Link::hbm_read, Link::hbm_write}, hbm), hbm);
  data.l2 = make_curve(bins, l2_bytes_by_bin(bins, gpu), l2_peak(gpu));
  if (gpu.l2_bytes_per_cycle < data.l2.ceiling) data.l2.unshared_ceiling = gpu.l2_bytes_per_cycle;
  return data;
}

std::vector<DensityColumn> density(const UnitLane& lane, double from, double to, int columns) {
  std::vector<DensityColumn> result(static_cast<std::size_t>(std::max(columns, 0)));
  const double width = (to - from) / std::max(columns, 1);
  for (const LaneSeries& series : lane.series) {
    std::size_t hint = 0;
    double busy = series.busy_until(from, hint);
    for (std::size_t c = 0; c < result.size(); ++c) {
      const double next = series.busy_until(from + width * static_cast<double>(c + 1), hint);
      const auto share = static_cast<float>(std::clamp((next - busy) / width, 0.0, 1.0));
      busy = next;
      DensityColumn& column = result[c];
      if (share > column.share[0]) {
        column.share[1] = column.share[0];
        column.tensor[1] = column.tensor[0];
        column.share[0] = share;
        column.tensor[0] = series.tensor;
      } else if (share > column.share[1]) {
        column.share[1] = share;
        column.tensor[1] = series.tensor;
      }
    }
  }
  for (DensityColumn& column : result) {
    const float sum = column.share[0] + column.share[1];
    if (sum > 1) {
      column.share[0] /= sum;
      column.share[1] /= sum;
    }
  }
  return result;
}

}  // namespace tilescope
