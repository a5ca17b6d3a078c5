// Bytes are a difference of two states; busy time and stalls are overlaps with the SM's intervals.
#include "app/model/run_data/range_sums.h"

#include <algorithm>
#include <map>

namespace tilescope {

namespace {

/// Cycles of [from, to] in which at least one bar of the lane lies.
double busy_cycles(const UnitLane& lane, double from, double to) {
  const auto [first, last] = lane.visible(from, to);
  double busy = 0, until = from;
  for (std::size_t i = first; i < last; ++i) {  // in order of start
    const double start = std::max(lane.bars[i].start, until), end = std::min(lane.bars[i].end, to);
    if (end <= start) continue;
    busy += end - start;
    until = end;
  }
  return busy;
}

}  // namespace

/// The busy share of the L2 of the whole run, by the bytes of a stretch of `share` of its time.
L2Busy l2_of(const Simulation& simulation, const std::array<std::int64_t, link_count>& bytes, double cycles) {
  const auto part = [&](Link link) {
    const auto whole = static_cast<double>(simulation.ledger.total(link).value);
    return whole > 0 ? static_cast<double>(bytes[static_cast<std::size_t>(link)]) / whole : 0;
  };
  // Of the run: lookups or writes, whichever take longer. Ports: their busier direction.
  const double times = simulation.cycles.value / cycles, both = std::max(part(Link::l2_to_sm), part(Link::sm_to_l2));
  L2Use use = simulation.l2;
  use.lookups = std::min(1.0, use.lookups * part(Link::l2_to_sm) * times);
  use.unshared *= part(Link::l2_to_sm) * times;
  use.ports = std::min(1.0, use.ports * both * times);
  return l2_busy(use);
}

RangeSums range_sums(const Simulation& simulation, const TimelineData& data, const TimeRange& range) {
  RangeSums sums;
  const Trace& trace = *simulation.trace;
  const double end = trace.end_cycle(), from = std::clamp(range.from, 0.0, end), to = std::clamp(range.to, from, end);
  sums.range = {from, to};
  const int sm = data.steps->sm;
  const TraceState before = trace.state_at_cycle(sm, from), after = trace.state_at_cycle(sm, to);
  sums.exact = before.traffic_exact && after.traffic_exact;
  for (std::size_t tensor = 0; tensor < after.traffic.size(); ++tensor)
    for (std::size_t link = 0; link < link_count; ++link)
      sums.bytes[link] += after.traffic[tensor][link] - before.traffic[tensor][link];
  if (to <= from) return sums;
  sums.l2 = l2_of(simulation, sums.bytes, to - from);
  for (std::size_t unit = 0; unit < timeline_units.size(); ++unit)
    sums.busy[unit] = busy_cycles(data.lanes[unit], from, to) / (to - from);
  std::map<WaitCause, double> stalls;
  for (const Interval& interval : trace.intervals(sm)) {
    if (interval.ready >= to) continue;
    if (interval.cause == WaitCause::none || interval.cause == WaitCause::program_order) continue;
    const double waited = std::min(interval.start, to) - std::max(interval.ready, from);
    if (waited > 0) stalls[interval.cause] += waited;
  }
  for (const auto& [cause, cycles] : stalls) sums.stalls.push_back({cause, cycles});
  std::stable_sort(sums.stalls.begin(), sums.stalls.end(),
                   [](const RangeSums::Stall& a, const RangeSums::Stall& b) { return a.cycles > b.cycles; });
  return sums;
}

}  // namespace tilescope
