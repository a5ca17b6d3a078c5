// The measured lanes of the timeline: what one SM of a real GPU did, as its own kernel recorded it, on the axis of the simulated
// SM.
#pragma once

#include "app/model/timeline_axis.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// How much of the panel's height they take; 0 where nothing was probed, in Race, and in a panel too low.
float measured_lanes_height(const View& view, float panel_height);
/// The last cycle that was recorded of the SM; 0 where nothing was probed.
double measured_end(const View& view);
/// One band a resident block, one line a warp. `plot` is as wide as the simulated lanes, `gutter` stands before it.
void draw_measured_lanes(ImDrawList* list, const View& view, const TimeWindow& window, const Rect& gutter, const Rect& plot);

}  // namespace tilescope
