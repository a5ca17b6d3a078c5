// Draws around the timeline: row names, launches, axis, playhead, current operation.
#pragma once

#include "app/views/timeline/timeline_state.h"

namespace tilescope {

/// Returns the font size of row names, limited by the row height; 0 if unreadable.
float lane_name_size(const ImFont* font, float lane_height);
/// Returns true for a bandwidth row.
bool is_curve(const TimelineRow& row);
/// Draws the row names; in Race the first row of a group names its algorithm.
void draw_gutter(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Draws the scroll position if rows do not fit.
void draw_scrollbar(ImDrawList* list, const Theme& theme, const TimelineLayout& layout, float scroll);
/// Draws a line at the start of each launch, and its name if there is room.
void draw_launches(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Draws ticks and the visible part of the run.
void draw_axis(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
void draw_playhead(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Draws the cycle at the playhead.
void draw_playhead_cycle(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Outlines the current operation in its row.
void draw_current(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Outlines what visits the tile under the mouse in the Mask view: the load of its keys, or the block in the row of its SM. Nothing
/// where the SM has no row: no other one runs the block.
void draw_pointed_visit(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);

}  // namespace tilescope
