// TimeRange: a stretch of a run that was chosen on the timeline.
#pragma once

namespace tilescope {

struct TimeRange {
  double from = 0, to = 0;  // cycles; from < to
  bool operator==(const TimeRange&) const = default;
};

}  // namespace tilescope
