// Goes through the starts and ends of an SM's intervals in order of time, and counts what is running.
#include "sim/analysis/tensor_bubbles.h"

#include <algorithm>
#include <map>

namespace tilescope {

namespace {

enum Running : std::uint8_t { product, softmax, load, edge, kinds };

/// What an interval counts as. `loops` by run: the time from its first product to the end of its last one.
Running kind_of(const Interval& interval, const std::map<std::int32_t, std::pair<double, double>>& loops) {
  if (interval.unit == Unit::tensor) return product;
  if (interval.unit == Unit::copy) return load;
  const auto loop = loops.find(interval.run);
  const bool inside = loop != loops.end() && interval.start >= loop->second.first && interval.start < loop->second.second;
  if (!inside || interval.unit == Unit::store) return edge;
  return interval.unit == Unit::exp || interval.unit == Unit::fp32 ? softmax : kinds;
}

struct Event {
  double time;
  int change;  // +1: begins, -1: ends, 0: a loop begins or ends
  Running what;
  int loops;
};

}  // namespace

std::string_view to_string(BubbleCause cause) {
  constexpr std::array<std::string_view, bubble_causes> names = {"softmax", "block start and end", "data", "barriers"};
  return names[static_cast<std::size_t>(cause)];
}

BubbleCause TensorBubbles::longest() const {
  return static_cast<BubbleCause>(std::max_element(idle.begin(), idle.end()) - idle.begin());
}

TensorBubbles tensor_bubbles(const Simulation& simulation, int sm) {
  TensorBubbles found;
  const auto intervals = simulation.trace->intervals(sm);
  std::map<std::int32_t, std::pair<double, double>> loops;
  double first = 0, last = 0;
  for (const Interval& interval : intervals) {
    first = last == 0 ? interval.start : std::min(first, interval.start);
    last = std::max(last, interval.end);
    if (interval.unit != Unit::tensor) continue;
    const auto [loop, is_new] = loops.try_emplace(interval.run, interval.start, interval.end);
    if (!is_new) loop->second = {std::min(loop->second.first, interval.start), std::max(loop->second.second, interval.end)};
  }
  if (loops.empty() || last <= first) return found;

  std::vector<Event> events;
  for (const Interval& interval : intervals) {
    const Running what = kind_of(interval, loops);
    if (what == kinds || interval.end <= interval.start) continue;
    events.push_back({interval.start, +1, what, 0});
    events.push_back({interval.end, -1, what, 0});
  }
  for (const auto& [run, loop] : loops) {
    events.push_back({loop.first, 0, kinds, +1});
    events.push_back({loop.second, 0, kinds, -1});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });

  std::array<int, kinds> running{};
  int in_loop = 0;
  double time = first;
  for (const Event& event : events) {
    if (event.time > time) {
      const double cycles = event.time - time;
      if (running[product] > 0) {
        found.busy += cycles;
      } else {
        const BubbleCause cause = running[softmax] > 0 ? BubbleCause::softmax
                                  : in_loop == 0       ? BubbleCause::block_edges
                                  : running[load] > 0  ? BubbleCause::data
                                  : running[edge] > 0  ? BubbleCause::block_edges
                                                       : BubbleCause::barriers;
        found.idle[static_cast<std::size_t>(cause)] += cycles;
        if (!found.bubbles.empty() && found.bubbles.back().cause == cause && found.bubbles.back().end == time)
          found.bubbles.back().end = event.time;
        else
          found.bubbles.push_back({time, event.time, cause});
      }
      time = event.time;
    }
    if (event.what < kinds) running[event.what] += event.change;
    in_loop += event.loops;
  }
  found.busy /= last - first;
  for (double& share : found.idle) share /= last - first;
  return found;
}

}  // namespace tilescope
