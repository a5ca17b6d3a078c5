// The timeline with one row per SM: blocks of every SM below the bandwidth curves, both runs in Race, and recorded blocks below.
//
//   launches   ▐1 scores 5.2 µs▌▐2 softmax 8.1 µs▌…          one bar per launch, in the colour of its output
//   HBM, L2
//   SM 0       ▐ block 0 ▌▐ block 132 ▌                       one place below the other where rows are high enough; blocks too
//   narrow SM 1       ▐ block 1 ▌▐ block 133 ▌                       for a bar, and SMs too many for a row each, become density
#pragma once

#include <array>
#include <memory>

#include "app/model/run_data/sm_lanes.h"
#include "app/views/timeline/timeline_hover.h"
#include "app/views/view.h"

namespace tilescope {

/// The visible SMs.
struct SmRows {
  double first = 0, count = 0;
  double whole = 0;
  bool operator==(const SmRows&) const = default;
};
SmRows all_rows(int sms);
/// Zooms by `factor` (below 1: in) around row `at`; at least one row stays.
SmRows zoom_rows(const SmRows& rows, double at, double factor);
SmRows pan_rows(const SmRows& rows, double by);
/// Rounds to whole rows if fewer than 32 are shown.
SmRows snapped_rows(const SmRows& rows);

/// State of the rows between frames.
struct SmPanelState {
  SmRows rows;                              // whole rows if few, so that none is cut
  SmRows exact;                             // exact result of zooming and dragging
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

/// Returns false while the blocks are being sorted.
bool refresh_sm_state(SmPanelState& state, const View& view);
/// Returns the last cycle of the recorded blocks, or 0.
double measured_sms_end(const SmPanelState& state);

TimelineLayout lay_out_sm_timeline(const Rect& area, const TimelineShape& shape, bool measured);
/// Returns an SM's rectangle; SMs out of view lie outside row.rect.
Rect sm_rect(const TimelineRow& row, const SmRows& rows, int sm);

/// Finds the block under the mouse.
struct SmBlock {
  std::size_t group = 0;
  bool measured = false;
  BlockRun run;
};
std::optional<SmBlock> find_sm_block(const SmPanelState& state, const View& view, const TimelineLayout& layout,
                                     const TimeWindow& window, ImVec2 mouse);

/// Draws names of rows and launches, the focused SM and the end of each run.
void draw_sm_labels(ImDrawList* list, const SmPanelState& state, const View& view, const TimelineLayout& layout,
                    const TimeWindow& window);
/// Requests simulations of SMs whose rows are high enough, and of the hovered one.
void ask_for_works(SmPanelState& state, const View& view, const TimelineLayout& layout, std::optional<SmBlock> under,
                   Commands& commands);
HoverText sm_hover(const SmPanelState& state, const View& view, const TimelineLayout& layout, const TimeWindow& window,
                   ImVec2 mouse);

}  // namespace tilescope
