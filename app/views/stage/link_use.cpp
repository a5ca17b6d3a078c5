// Reads link and unit use at a moment from a trace.
#include "app/views/stage/link_use.h"

#include <algorithm>

namespace tilescope {

namespace {

/// Active intervals began at most this many entries earlier, because an SM has few operations at once.
constexpr std::ptrdiff_t look_back = 96;

/// First interval that starts after `cycle`.
std::ptrdiff_t first_after(std::span<const Interval> intervals, double cycle) {
  return std::upper_bound(intervals.begin(), intervals.end(), cycle, [](double c, const Interval& i) { return c < i.start; }) -
         intervals.begin();
}

}  // namespace

double port_rate(const Trace& trace, int sm, double cycle, bool to_sm) {
  const auto intervals = trace.intervals(sm);
  const std::ptrdiff_t end = first_after(intervals, cycle);
  double rate = 0;
  for (std::ptrdiff_t i = end - 1; i >= 0 && i >= end - look_back; --i) {
    const Interval& interval = intervals[static_cast<std::size_t>(i)];
    if (interval.kind != (to_sm ? OpKind::load : OpKind::store) || interval.end <= cycle || interval.streams <= 0 ||
        interval.end - interval.streams > cycle)
      continue;  // it is over, or none of its bytes has crossed yet
    rate += static_cast<double>(interval.bytes) / static_cast<double>(interval.streams);
  }
  return rate;
}

SmActivity sm_activity(const Trace& trace, int sm, double cycle) {
  const auto intervals = trace.intervals(sm);
  const std::ptrdiff_t end = first_after(intervals, cycle);
  SmActivity activity;
  for (std::ptrdiff_t i = end - 1; i >= 0 && i >= end - look_back; --i) {
    const Interval& interval = intervals[static_cast<std::size_t>(i)];
    // The clock of a step is the end of its operation, so one that ends now is shown, and comes before one that starts now.
    if (interval.kind == OpKind::load || interval.end < cycle) continue;
    if (!activity.doing || interval.start < cycle) activity.doing = &interval;
    if (interval.start < cycle) return activity;
  }
  for (auto i = static_cast<std::size_t>(end); i < intervals.size() && !activity.doing; ++i) {
    if (intervals[i].kind == OpKind::load) continue;
    activity.next = &intervals[i];
    return activity;
  }
  return activity;
}

double shown_rate(double rate, double peak) {
  return peak > 0 ? std::min(rate, peak) : rate;
}

}  // namespace tilescope
