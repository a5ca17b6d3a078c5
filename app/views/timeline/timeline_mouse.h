// Mouse input of the timeline: seek, zoom and scroll, in cycles and in SM rows; clicks.
#pragma once

#include "app/views/timeline/timeline_state.h"

namespace tilescope {

/// Handles the SM names: the wheel zooms, a drag scrolls.
void handle_gutter(TimelineState& state, const TimelineLayout& layout);
/// Handles row names that do not fit: wheel and drag scroll them.
void handle_names(TimelineState& state, const TimelineLayout& layout);
/// Handles wheel and drag over the plot, the previous item.
void handle_mouse(TimelineState& state, const TimelineLayout& layout, Commands& commands);
/// Handles a click on the plot: goes to an operation's step or a block, or opens the causes of a stall.
void handle_click(TimelineState& state, const View& view, const TimelineLayout& layout, Commands& commands);

}  // namespace tilescope
