// Draws the blocks of every SM as quads: bars if rows are high enough, density otherwise.
#pragma once

#include "app/views/timeline/sm_timeline.h"

namespace tilescope {

inline constexpr float least_bar = 3;      // least slot height for bars
inline constexpr float least_inside = 10;  // least slot height for operations inside blocks

/// The blocks of one row of kind sms or measured_sms. `works` may be null.
void add_sm_blocks(TimelinePicture& picture, const Theme& theme, const TimelineLayout& layout, const TimeWindow& window,
                   const TimelineRow& row, const SmRows& rows, const SmLanes& lanes, const SmWorks* works);

}  // namespace tilescope
