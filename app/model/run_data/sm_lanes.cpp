// Sorts runs into places, and looks into SMs that the shown simulation has out of focus.
#include "app/model/run_data/sm_lanes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "sim/core/probe_result.h"

namespace tilescope {

namespace {

/// Intervals that one look may keep, about 100 bytes each.
constexpr std::size_t most_looked_into = 1'000'000;
constexpr int most_beside = 8;  // SMs on either side of those that were asked for
constexpr float apart = 6;      // columns that a block has to be wide for its edges to be drawn

void index_places(SmLanes& lanes) {
  for (const BlockRun& run : lanes.runs) lanes.places = std::max(lanes.places, run.slot + 1);
  const auto place_of = [&](const BlockRun& run) {
    return static_cast<std::size_t>(run.sm) * static_cast<std::size_t>(lanes.places) + static_cast<std::size_t>(run.slot);
  };
  std::sort(lanes.runs.begin(), lanes.runs.end(), [&](const BlockRun& a, const BlockRun& b) {
    const std::size_t p = place_of(a), q = place_of(b);
    return p != q ? p < q : a.start < b.start;
  });
  lanes.first.assign(static_cast<std::size_t>(lanes.sm_count) * static_cast<std::size_t>(lanes.places) + 1, 0);
  for (const BlockRun& run : lanes.runs) ++lanes.first[place_of(run) + 1];
  std::partial_sum(lanes.first.begin(), lanes.first.end(), lanes.first.begin());
  lanes.launches.assign(lanes.made.size(), {std::numeric_limits<double>::max(), 0});
  lanes.places_of.assign(lanes.made.size(), 1);
  for (const BlockRun& run : lanes.runs) {
    lanes.end = std::max(lanes.end, run.end);
    if (static_cast<std::size_t>(run.launch) >= lanes.launches.size()) continue;
    LaunchTime& launch = lanes.launches[static_cast<std::size_t>(run.launch)];
    launch = {std::min(launch.start, run.start), std::max(launch.end, run.end)};
    int& places = lanes.places_of[static_cast<std::size_t>(run.launch)];
    places = std::max(places, run.slot + 1);
  }
}

/// Columns of a stretch of time, to which blocks are added one by one.
class Columns {
 public:
  Columns(double begin, double span, std::size_t count)
      : begin_(begin), a_cycle_(static_cast<double>(count) / span), level_(count), whole_(count + 2) {}

  /// Returns the column that the block begins in.
  std::size_t add(const BlockRun& run, float share) {
    const auto count = static_cast<double>(level_.size());
    const double from = std::clamp((run.start - begin_) * a_cycle_, 0.0, count),
                 to = std::clamp((run.end - begin_) * a_cycle_, 0.0, count);
    const auto first = static_cast<std::size_t>(from), last = static_cast<std::size_t>(to);
    if (first == last) {
      if (first < level_.size()) level_[first] += static_cast<float>(to - from) * share;
      return first;
    }
    level_[first] += static_cast<float>(static_cast<double>(first + 1) - from) * share;
    whole_[first + 1] += share;  // all of the columns up to the one that it ends in
    whole_[last] -= share;
    if (last < level_.size()) level_[last] += static_cast<float>(to - static_cast<double>(last)) * share;
    return first;
  }

  std::vector<float> take() {
    float sum = 0;
    for (std::size_t c = 0; c < level_.size(); ++c) {
      sum += whole_[c];
      level_[c] = std::clamp(level_[c] + sum, 0.0F, 1.0F);
    }
    return std::move(level_);
  }

 private:
  double begin_, a_cycle_;
  std::vector<float> level_, whole_;
};

/// Four bins a block of an SM: a window that has fewer columns than bins then shows few enough blocks to go through.
void sum_up(SmLanes& lanes) {
  constexpr std::size_t few = 32, least_bins = 4096, most_bins = 32768;
  const std::size_t of_sm = lanes.runs.size() / static_cast<std::size_t>(std::max(lanes.sm_count, 1));
  if (of_sm < few) return;
  const std::size_t bins = std::clamp(std::bit_ceil(4 * of_sm + 1), least_bins, most_bins);
  lanes.bins = static_cast<int>(bins);
  lanes.used.clear();
  lanes.used.reserve(static_cast<std::size_t>(lanes.sm_count) * (bins + 1));
  for (int sm = 0; sm < lanes.sm_count; ++sm) {
    Columns columns(0, std::max(lanes.end, 1.0), bins);
    const auto first = lanes.first[static_cast<std::size_t>(sm) * static_cast<std::size_t>(lanes.places)],
               last = lanes.first[static_cast<std::size_t>(sm + 1) * static_cast<std::size_t>(lanes.places)];
    for (const BlockRun& run : std::span(lanes.runs).subspan(first, last - first))
      columns.add(run, 1 / static_cast<float>(lanes.places_of[static_cast<std::size_t>(run.launch)]));
    float sum = 0;
    lanes.used.push_back(0);
    for (const float level : columns.take()) lanes.used.push_back(sum += level);
  }
}

}  // namespace

std::pair<std::size_t, std::size_t> SmLanes::visible(int sm, int place, double from, double to) const {
  const auto all = of(sm, place);
  const auto first_run = std::lower_bound(all.begin(), all.end(), from, [](const BlockRun& run, double t) { return run.end < t; });
  const auto last_run = std::upper_bound(first_run, all.end(), to, [](double t, const BlockRun& run) { return t < run.start; });
  const auto offset = static_cast<std::size_t>(all.data() - runs.data());
  return {offset + static_cast<std::size_t>(first_run - all.begin()), offset + static_cast<std::size_t>(last_run - all.begin())};
}

std::optional<std::size_t> SmLanes::at(int sm, int place, double cycle) const {
  const auto [first_run, last_run] = visible(sm, place, cycle, cycle);
  return first_run < last_run ? std::optional(last_run - 1) : std::nullopt;
}

int SmLanes::launch_at(double cycle) const {
  int launch = 0;
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (launches[i].start <= cycle) launch = static_cast<int>(i);
  return launch;
}

Tensor made_by(const Simulation& simulation, int launch) {
  const auto written = [&](Tensor tensor) { return simulation.ledger.total(launch, tensor, Link::sm_to_l2).value; };
  const auto tensors = simulation.program->tensors();
  return *std::max_element(tensors.begin(), tensors.end(), [&](Tensor a, Tensor b) { return written(a) < written(b); });
}

SmLanes make_sm_lanes(const Simulation& simulation) {
  SmLanes lanes;
  lanes.sm_count = static_cast<int>(simulation.request.gpu.sm_count);
  const auto runs = simulation.trace->runs();
  lanes.runs.assign(runs.begin(), runs.end());
  std::size_t blocks = 0;
  for (std::size_t launch = 0; launch < simulation.launches.size(); ++launch) {
    blocks += static_cast<std::size_t>(simulation.launches[launch].blocks);
    lanes.made.push_back(made_by(simulation, static_cast<int>(launch)));
  }
  lanes.complete = blocks == runs.size();
  index_places(lanes);
  sum_up(lanes);
  return lanes;
}

SmLanes make_sm_lanes(const ProbeResult& probe, const SmLanes& simulated) {
  SmLanes lanes;
  lanes.sm_count = simulated.sm_count;
  lanes.made = simulated.made;
  int hardware = 0;
  for (const ProbedBlock& block : probe.blocks) hardware = std::max(hardware, block.sm + 1);
  std::vector<int> shown(static_cast<std::size_t>(hardware), -1);
  lanes.hardware_sm.assign(static_cast<std::size_t>(lanes.sm_count), -1);
  const auto pair = [&](int on_hardware, int sm) {
    int& here = shown[static_cast<std::size_t>(on_hardware)];
    int& there = lanes.hardware_sm[static_cast<std::size_t>(sm)];
    if (here < 0 && there < 0) here = sm, there = on_hardware;
  };
  std::vector<std::pair<std::pair<int, std::int64_t>, int>> simulated_sm;
  for (const BlockRun& run : simulated.runs) simulated_sm.push_back({{run.launch, run.block}, run.sm});
  std::sort(simulated_sm.begin(), simulated_sm.end());
  for (const ProbedBlock& block : probe.blocks) {
    const std::pair<int, std::int64_t> wanted = {block.launch, block.block};
    const auto found = std::lower_bound(simulated_sm.begin(), simulated_sm.end(), wanted,
                                        [](const auto& entry, const auto& key) { return entry.first < key; });
    if (found != simulated_sm.end() && found->first == wanted) pair(block.sm, found->second);
  }
  for (const ProbedBlock& block : probe.blocks)  // whose places others took: where nobody is
    for (int sm = 0; sm < lanes.sm_count && shown[static_cast<std::size_t>(block.sm)] < 0; ++sm) pair(block.sm, sm);

  const double cycles_a_ns = probe.sm_clock_hz / 1e9;
  std::vector<ProbedBlock> blocks = probe.blocks;
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const ProbedBlock& a, const ProbedBlock& b) { return a.start_ns < b.start_ns; });
  std::vector<std::vector<double>> free_from(static_cast<std::size_t>(lanes.sm_count));
  for (const ProbedBlock& block : blocks) {
    const int sm = shown[static_cast<std::size_t>(block.sm)];
    if (sm < 0) continue;  // the GPU has more SMs than the simulated one
    auto& places = free_from[static_cast<std::size_t>(sm)];
    auto place = std::find_if(places.begin(), places.end(), [&](double until) { return until <= block.start_ns; });
    if (place == places.end()) place = places.insert(places.end(), 0.0);
    *place = block.end_ns;
    lanes.runs.push_back({block.launch, sm, static_cast<std::int32_t>(place - places.begin()), block.block,
                          block.start_ns * cycles_a_ns, block.end_ns * cycles_a_ns});
  }
  index_places(lanes);
  sum_up(lanes);
  return lanes;
}

namespace {

SmDensity density_of_sums(const SmLanes& lanes, int first, int last, const SmColumns& columns) {
  const auto count = static_cast<std::size_t>(columns.count);
  SmDensity density{columns.count, std::vector<float>(count), std::vector<std::uint8_t>(count)};
  const float whole = static_cast<float>(columns.window.span() / columns.count / std::max(lanes.end, 1.0) * lanes.bins);
  const float share = 1 / (whole * static_cast<float>(last - first));
  for (int sm = first; sm < last; ++sm) {
    const float* const used = lanes.used_by(sm);
    const auto until = [&](const SmColumns::Edge& edge) {
      return used[edge.bin] + (used[edge.bin + 1] - used[edge.bin]) * edge.part;
    };
    float before = until(columns.edges.front());
    for (std::size_t c = 0; c < count; ++c) {
      const float next = until(columns.edges[c + 1]);
      density.level[c] += (next - before) * share;
      before = next;
    }
  }
  for (float& level : density.level) level = std::clamp(level, 0.0F, 1.0F);
  return density;
}

}  // namespace

SmColumns make_sm_columns(const SmLanes& lanes, const TimeWindow& window, int count) {
  SmColumns columns{window, count, {}, {}};
  for (int c = 0; c < count; ++c) columns.launch.push_back(lanes.launch_at(window.begin + window.span() * (c + 0.5) / count));
  // Of an SM's blocks, as if they were spread over the time evenly; and a column must be no narrower than a bin.
  const double of_sm = static_cast<double>(lanes.runs.size()) / std::max(lanes.sm_count, 1);
  const double seen = of_sm * std::min(1.0, window.span() / std::max(lanes.end, 1.0));
  if (seen * apart <= 2 * count || window.span() / count * lanes.bins < lanes.end) return columns;
  for (int c = 0; c <= count; ++c) {
    const double cycle = window.begin + window.span() * c / count;
    const double at = std::clamp(cycle / std::max(lanes.end, 1.0), 0.0, 1.0) * lanes.bins;
    const auto bin = std::min(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(lanes.bins) - 1);
    columns.edges.push_back({bin, static_cast<float>(at - bin)});
  }
  return columns;
}

SmDensity sm_density(const SmLanes& lanes, int first, int last, const SmColumns& columns) {
  if (!columns.edges.empty()) return density_of_sums(lanes, first, last, columns);
  const auto count = static_cast<std::size_t>(columns.count);
  const TimeWindow& window = columns.window;
  SmDensity density{columns.count, {}, std::vector<std::uint8_t>(count)};
  Columns levels(window.begin, window.span(), count);
  std::vector<float> shares;  // what one block of a launch is of the row
  for (const int places : lanes.places_of) shares.push_back(1 / static_cast<float>((last - first) * places));
  for (int sm = first; sm < last; ++sm)
    for (int place = 0; place < lanes.places; ++place) {
      const auto [from, to] = lanes.visible(sm, place, window.begin, window.end);
      const bool edges = static_cast<float>(to - from) * apart * static_cast<float>(lanes.places) < 2 * static_cast<float>(count);
      for (std::size_t i = from; i < to; ++i) {
        const BlockRun& run = lanes.runs[i];
        const std::size_t begins = levels.add(run, shares[static_cast<std::size_t>(run.launch)]);
        if (edges && run.start > window.begin && begins < count) density.edge[begins] = 1;
      }
    }
  density.level = levels.take();
  return density;
}

SmWork::Waits SmWork::longest_wait(const BlockRun& block) const {
  const auto runs = simulation->trace->runs();
  const auto intervals = simulation->trace->intervals(steps.sm);
  std::array<double, 13> cycles{};
  auto at = std::lower_bound(intervals.begin(), intervals.end(), block.start,
                             [](const Interval& interval, double t) { return interval.start < t; });
  for (; at != intervals.end() && at->start <= block.end; ++at) {
    const BlockRun& run = runs[static_cast<std::size_t>(at->run)];
    if (run.launch == block.launch && run.block == block.block)
      cycles[static_cast<std::size_t>(at->cause)] += at->start - at->ready;
  }
  cycles[static_cast<std::size_t>(WaitCause::none)] = cycles[static_cast<std::size_t>(WaitCause::program_order)] = 0;
  const auto longest = std::max_element(cycles.begin(), cycles.end());
  if (*longest <= 0) return {};
  return {static_cast<WaitCause>(longest - cycles.begin()), *longest};
}

std::shared_ptr<const SmWork> make_sm_work(std::shared_ptr<const Simulation> simulation, int sm) {
  auto work = std::make_shared<SmWork>();
  work->steps = make_step_index(*simulation, sm);
  const auto intervals = simulation->trace->intervals(sm);
  const auto runs = simulation->trace->runs();
  std::vector<std::vector<LaneBar>> bars;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Interval& interval = intervals[i];
    if (interval.unit == Unit::copy || interval.unit == Unit::sync)
      continue;  // loads run beside the work; what waits for them says so
    const auto place = static_cast<std::size_t>(runs[static_cast<std::size_t>(interval.run)].slot);
    if (bars.size() <= place) bars.resize(place + 1);
    bars[place].push_back({interval.start, interval.end, static_cast<std::int32_t>(i), 0});
  }
  for (std::vector<LaneBar>& place : bars) work->places.push_back(make_lane(Unit::tensor, std::move(place), work->steps.labels));
  work->simulation = std::move(simulation);
  return work;
}

int sms_that_can_be_looked_into(const Simulation& simulation) {
  const auto focused = simulation.trace->focused_sms();
  const std::size_t each =
      focused.empty() ? most_looked_into : std::max<std::size_t>(1, simulation.trace->intervals(focused.front()).size());
  return static_cast<int>(
      std::clamp<std::size_t>(most_looked_into / each, 1, static_cast<std::size_t>(simulation.request.gpu.sm_count)));
}

Result<SmWorks> look_into_sms(const std::shared_ptr<const Simulation>& simulation, int first, int last, const Progress& progress) {
  SmWorks works;
  const auto sms = static_cast<int>(simulation->request.gpu.sm_count);
  works.by_sm.resize(static_cast<std::size_t>(sms));
  for (const int sm : simulation->trace->focused_sms()) works.by_sm[static_cast<std::size_t>(sm)] = make_sm_work(simulation, sm);
  const int room = sms_that_can_be_looked_into(*simulation);
  if (room >= sms) first = 0, last = sms;
  // The mouse goes on to the rows beside, and one simulation tells about them as well.
  const int beside = std::clamp((room - (last - first)) / 2, 0, most_beside);
  first = std::max(0, first - beside), last = std::min(sms, last + beside);
  SimulationRequest request = simulation->request;
  for (int sm = std::max(0, first); sm < std::min(last, sms) && static_cast<int>(request.also_in_focus.size()) < room; ++sm)
    if (works.of(sm) == nullptr) request.also_in_focus.push_back(sm);
  if (request.also_in_focus.empty()) return works;
  request.focus_sm = request.also_in_focus.front();
  const auto again = simulate(request, progress);
  if (!again) return again.error();
  for (const int sm : request.also_in_focus)
    if (!(*again)->trace->intervals(sm).empty()) works.by_sm[static_cast<std::size_t>(sm)] = make_sm_work(*again, sm);
  return works;
}

}  // namespace tilescope
