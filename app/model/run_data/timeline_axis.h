// TimeWindow and axis ticks: the visible cycles of the timeline. Arithmetic only.
#pragma once

#include <string>
#include <vector>

#include "sim/core/units.h"

namespace tilescope {

/// The visible cycles, out of 0 to the end of the run.
struct TimeWindow {
  double begin = 0, end = 0;
  double whole = 0;  // last cycle of the simulation

  double span() const { return end - begin; }
  bool fits_all() const { return begin <= 0 && end >= whole; }
  double x_of(double cycle, double left, double width) const { return left + (cycle - begin) / span() * width; }
  double cycle_at(double x, double left, double width) const { return begin + (x - left) / width * span(); }
};

/// Shows everything.
TimeWindow fit(double whole);
/// Adapts the window to a simulation that ends at `whole`. It is kept unless the range changed by more than 2× or everything was
/// visible.
TimeWindow carry_over(const TimeWindow& window, double whole);
/// Zooms by `factor` (below 1: in) around `cycle`.
TimeWindow zoom_at(const TimeWindow& window, double cycle, double factor);
/// Scrolls by `cycles`, within the run.
TimeWindow pan(const TimeWindow& window, double cycles);
/// Scrolls one page when `cycle` is out of view.
TimeWindow follow(const TimeWindow& window, double cycle);

struct Tick {
  double cycle = 0;
  std::string text;
};

/// Returns at most `most` ticks, at 1, 2 or 5 times a power of ten, in cycles.
std::vector<Tick> cycle_ticks(const TimeWindow& window, int most);
/// Returns ticks in wall time: "0", "200 ns", "1.5 µs", all in one unit.
std::vector<Tick> time_ticks(const TimeWindow& window, int most, Hertz clock);

}  // namespace tilescope
