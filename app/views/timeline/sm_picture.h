// The blocks of every SM as quads: bars where rows are high enough, density where they are not.
#pragma once

#include "app/views/timeline/sm_timeline.h"

namespace tilescope {

inline constexpr float least_bar = 3;      // height of a place that shows its blocks as bars
inline constexpr float least_inside = 10;  // height of a place that shows what was done in its blocks

/// The blocks of one row of kind sms or measured_sms. `works` may be null.
void add_sm_blocks(TimelinePicture& picture, const Theme& theme, const TimelineLayout& layout, const TimeWindow& window,
                   const TimelineRow& row, const SmRows& rows, const SmLanes& lanes, const SmWorks* works);

}  // namespace tilescope
