// The timeline whose lanes are SMs: blocks of every SM under the bandwidth curves, in Race those of both simulations, and below
// them the blocks that a real kernel recorded.
//
//   launches   ▐1 scores 5.2 µs▌▐2 softmax 8.1 µs▌…          one bar a launch, in the colour of the tensor that it makes
//   HBM, L2
//   SM 0       ▐ block 0 ▌▐ block 132 ▌                       one place below the other where rows are high enough; blocks too
//   narrow SM 1       ▐ block 1 ▌▐ block 133 ▌                       for a bar, and SMs too many for a row each, become density
#pragma once

#include <array>
#include <memory>

#include "app/model/sm_lanes.h"
#include "app/views/timeline/timeline_hover.h"
#include "app/views/view.h"

namespace tilescope {

/// The SMs on screen.
struct SmRows {
  double first = 0, count = 0;
  double whole = 0;
  bool operator==(const SmRows&) const = default;
};
SmRows all_rows(int sms);
/// Zooms by `factor` (below 1: in) so that row `at` keeps its place; at least one row stays.
SmRows zoom_rows(const SmRows& rows, double at, double factor);
SmRows pan_rows(const SmRows& rows, double by);
/// Whole rows where fewer than 32 are shown.
SmRows snapped_rows(const SmRows& rows);

/// What the panel remembers of its rows.
struct SmPanelState {
  SmRows rows;                              // whole ones where they are few, so that none is cut
  SmRows exact;                             // what zooming and dragging made of them
  std::shared_ptr<const SmLanes> measured;  // of the probe below
  const KnownProbe* measured_of = nullptr;
  std::shared_ptr<const SmLanes> measured_for;
  int hovered_sm = -1;
  double hovered_seconds = 0;
  std::array<LookIntoSms, 2> asked;  // by lane
  std::array<std::shared_ptr<const SmLanes>, 2> asked_of;
};

inline void set_rows(SmPanelState& state, const SmRows& rows) {
  state.exact = rows;
  state.rows = snapped_rows(rows);
}

/// False while the blocks are being sorted.
bool refresh_sm_state(SmPanelState& state, const View& view);
/// The last cycle of the blocks that were recorded; 0 where nothing is.
double measured_sms_end(const SmPanelState& state);

TimelineLayout lay_out_sm_timeline(const Rect& area, const TimelineShape& shape, bool measured);
/// Where a row's SM is; the rows of SMs out of view lie outside of row.rect.
Rect sm_rect(const TimelineRow& row, const SmRows& rows, int sm);

/// A block under the mouse.
struct SmBlock {
  std::size_t group = 0;
  bool measured = false;
  BlockRun run;
};
std::optional<SmBlock> find_sm_block(const SmPanelState& state, const View& view, const TimelineLayout& layout,
                                     const TimeWindow& window, ImVec2 mouse);

/// Names of rows and launches, the SM in focus and what has ended when.
void draw_sm_labels(ImDrawList* list, const SmPanelState& state, const View& view, const TimelineLayout& layout,
                    const TimeWindow& window);
/// Asks for what SMs did: of rows that are high enough to show it, and of the one that the mouse rests on.
void ask_for_works(SmPanelState& state, const View& view, const TimelineLayout& layout, std::optional<SmBlock> under,
                   Commands& commands);
HoverText sm_hover(const SmPanelState& state, const View& view, const TimelineLayout& layout, const TimeWindow& window,
                   ImVec2 mouse);

}  // namespace tilescope
