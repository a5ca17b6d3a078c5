// A chosen stretch of the timeline: its band, how it is chosen, and the box with what happened in it.
#pragma once

#include "app/views/timeline/timeline_state.h"
#include "app/views/view.h"

namespace tilescope {

/// Chooses a stretch while Ctrl is held and the plot, the last item, is dragged. True while it has the mouse.
bool handle_range(TimelineState& state, const TimelineLayout& layout, Commands& commands);
/// Draws the band of the chosen stretch.
void draw_range_band(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Draws bytes, busy shares and stalls of the stretch above the timeline.
void draw_range_box(TimelineState& state, const View& view, const TimelineLayout& layout, Commands& commands);

}  // namespace tilescope
