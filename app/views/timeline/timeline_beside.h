// The pinned run below the timeline's rows: its launches and units on the same axis of time.
#pragma once

#include "app/model/run_data/timeline_axis.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the height of its rows: launches, and the units where the panel has units and room. 0 without one, in Race, or if the
/// panel is too low.
float beside_row_height(const View& view, float panel_height);
/// Returns how far the axis has to reach for it, in cycles of the run on screen; 0 where it has no row.
double beside_end(const View& view);
/// Draws a bar a launch, and below them a thin row a unit, in the order of the rows above. `plot` aligns with those, `gutter` is
/// left of it.
void draw_beside_row(ImDrawList* list, const View& view, const TimeWindow& window, const Rect& gutter, const Rect& plot);

}  // namespace tilescope
