// Zooming, panning and round numbers for the timeline.
#include "app/model/run_data/timeline_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/analysis/format.h"

namespace tilescope {
namespace {

constexpr double smallest_span = 8;  // cycles; the closest useful zoom

TimeWindow clamped(double begin, double span, double whole) {
  TimeWindow window;
  window.whole = whole;
  span = std::clamp(span, std::min(smallest_span, whole), whole);
  window.begin = std::clamp(begin, 0.0, whole - span);
  window.end = window.begin + span;
  return window;
}

double round_step(double span, int most) {
  const double least = span / std::max(most, 1);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

}  // namespace

TimeWindow fit(double whole) {
  whole = std::max(whole, 1.0);
  return {0, whole, whole};
}

TimeWindow carry_over(const TimeWindow& window, double whole) {
  whole = std::max(whole, 1.0);
  if (window.whole <= 0 || window.fits_all() || whole > 2 * window.whole || window.whole > 2 * whole) return fit(whole);
  return clamped(window.begin, window.span(), whole);
}

TimeWindow zoom_at(const TimeWindow& window, double cycle, double factor) {
  const double span = std::clamp(window.span() * factor, std::min(smallest_span, window.whole), window.whole);
  const double share = window.span() > 0 ? (cycle - window.begin) / window.span() : 0;
  return clamped(cycle - share * span, span, window.whole);
}

TimeWindow pan(const TimeWindow& window, double cycles) {
  return clamped(window.begin + cycles, window.span(), window.whole);
}

TimeWindow follow(const TimeWindow& window, double cycle) {
  if (cycle >= window.begin && cycle <= window.end) return window;
  return clamped(cycle - window.span() * 0.1, window.span(), window.whole);
}

std::vector<Tick> cycle_ticks(const TimeWindow& window, int most) {
  std::vector<Tick> ticks;
  const double step = std::max(1.0, round_step(window.span(), most));
  for (double at = std::ceil(window.begin / step) * step; at <= window.end; at += step)
    ticks.push_back({at, format_cycles(Cycles(at))});
  return ticks;
}

std::vector<Tick> time_ticks(const TimeWindow& window, int most, Hertz clock) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr std::array<Unit, 4> units = {Unit{1, "ns"}, Unit{1e3, "µs"}, Unit{1e6, "ms"}, Unit{1e9, "s"}};
  const double ns_a_cycle = 1e9 / clock.value;
  const double step = round_step(window.span() * ns_a_cycle, most);
  const double last = window.end * ns_a_cycle;
  std::size_t unit = 0;
  while (unit + 1 < units.size() && last >= 2 * units[unit + 1].ns) ++unit;
  const double in_unit = step / units[unit].ns;
  const int decimals = in_unit >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(in_unit) - 1e-9));
  std::vector<Tick> ticks;
  for (double n = std::ceil(window.begin * ns_a_cycle / step - 1e-9); n * step <= last * (1 + 1e-12); ++n)
    ticks.push_back({n * step / ns_a_cycle, n == 0 ? "0" : fmt::format("{:.{}f} {}", n * in_unit, decimals, units[unit].name)});
  return ticks;
}

}  // namespace tilescope
