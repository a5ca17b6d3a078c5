// What stands around and over the timeline's picture: names of rows, launches, the axis, the playhead, the current operation.
#pragma once

#include "app/views/timeline/timeline_state.h"

namespace tilescope {

/// Size of the names of lanes: as the lanes' height allows, where text is larger than that. 0: none can be read.
float lane_name_size(const ImFont* font, float lane_height);
/// True for a row that shows a bandwidth.
bool is_curve(const TimelineRow& row);
/// The names before the rows; in Race the first row of a group names its algorithm.
void draw_gutter(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Where rows are higher than their place, which part of them is seen.
void draw_scrollbar(ImDrawList* list, const Theme& theme, const TimelineLayout& layout, float scroll);
/// A line where each launch begins, and its name above the rows where there is room.
void draw_launches(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// Ticks, and where in the whole run the window is.
void draw_axis(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
void draw_playhead(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);
/// The operation of the current step, outlined in its lane.
void draw_current(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout);

}  // namespace tilescope
