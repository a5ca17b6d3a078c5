// The measured rows of the timeline: one SM of a real GPU, recorded by the kernel, on the simulated axis.
#pragma once

#include "app/model/timeline_axis.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns their height; 0 without a probe, in Race, or if the panel is too low.
float measured_lanes_height(const View& view, float panel_height);
/// Returns the last recorded cycle, or 0.
double measured_end(const View& view);
/// Draws a band per resident block and a line per warp; where warps have roles, a band per role and a line per block. `plot` aligns
/// with the simulated rows, `gutter` is left of it.
void draw_measured_lanes(ImDrawList* list, const View& view, const TimeWindow& window, const Rect& gutter, const Rect& plot);

}  // namespace tilescope
