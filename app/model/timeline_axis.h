// TimeWindow and axis ticks of the timeline: which cycles are on screen, and where the round numbers are. Pure arithmetic.
#pragma once

#include <string>
#include <vector>

#include "sim/core/units.h"

namespace tilescope {

/// The cycles that the plot shows, of 0 … end in all.
struct TimeWindow {
  double begin = 0, end = 0;
  double whole = 0;  // the last cycle of the simulation

  double span() const { return end - begin; }
  bool fits_all() const { return begin <= 0 && end >= whole; }
  double x_of(double cycle, double left, double width) const { return left + (cycle - begin) / span() * width; }
  double cycle_at(double x, double left, double width) const { return begin + (x - left) / width * span(); }
};

/// Shows everything.
TimeWindow fit(double whole);
/// What a window becomes when another simulation ends at `whole`: kept, unless the range changed by more than a factor of two or
/// everything was in view before.
TimeWindow carry_over(const TimeWindow& window, double whole);
/// Zooms by `factor` (below 1: in) so that `cycle` keeps its place.
TimeWindow zoom_at(const TimeWindow& window, double cycle, double factor);
/// Moves by `cycles`, as far as there is something to see.
TimeWindow pan(const TimeWindow& window, double cycles);
/// Turns the page when `cycle` is out of view.
TimeWindow follow(const TimeWindow& window, double cycle);

struct Tick {
  double cycle = 0;
  std::string text;
};

/// Ticks at 1, 2 or 5 times a power of ten, at most `most` of them, in cycles.
std::vector<Tick> cycle_ticks(const TimeWindow& window, int most);
/// The same in wall time: "0", "200 ns", "1.5 µs"; all ticks in one unit.
std::vector<Tick> time_ticks(const TimeWindow& window, int most, Hertz clock);

}  // namespace tilescope
