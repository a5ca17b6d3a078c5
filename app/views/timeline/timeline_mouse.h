// What the mouse does to the timeline: scrub, zoom and move, over cycles and over rows of SMs; a click asks or goes there.
#pragma once

#include "app/views/timeline/timeline_state.h"

namespace tilescope {

/// Over the names of the SMs the wheel zooms into them and a drag moves them.
void handle_gutter(TimelineState& state, const TimelineLayout& layout);
/// Over the names of lanes that are higher than their place the wheel and a drag scroll them.
void handle_names(TimelineState& state, const TimelineLayout& layout);
/// Wheel and drag over the plot, the item before.
void handle_mouse(TimelineState& state, const TimelineLayout& layout, Commands& commands);
/// A click on the plot, not a drag: on an operation it goes to its step, on a wait it asks why, on a block it goes to it.
void handle_click(TimelineState& state, const View& view, const TimelineLayout& layout, Commands& commands);

}  // namespace tilescope
