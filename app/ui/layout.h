// Layout: where each panel stands, computed from the window's size and the places of the splitters.
//
//   ┌───────────────────────── top bar ─────────────────────────┐
//   ├─────────┬┄──────────────────────────────┬┄────────────────┤     ┄ a splitter: the gap itself can be dragged
//   │ listing │┆ stage                        │┆ softmax        │
//   │         │┆                              │┆┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄│
//   │         │┆                              │┆ traffic        │
//   ├┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┤
//   │ timeline, and below it in the same frame: transport       │
//   └───────────────────────────────────────────────────────────┘
//
// Text so large that three columns would cut the middle leaves one beside it, which shows one of the three panels at a time, by the
// tabs over it. A panel alone has everything between the bars.
#pragma once

#include <array>
#include <string_view>

#include "app/ui/widgets.h"

namespace tilescope {

enum class Splitter { left, right, bottom, softmax };
inline constexpr std::array<Splitter, 4> all_splitters = {Splitter::left, Splitter::right, Splitter::bottom, Splitter::softmax};

/// Panels beside the middle, in the order of their tabs where they share a column.
inline constexpr std::array<std::string_view, 3> side_panels = {"listing", "softmax", "traffic"};

/// Shares of the window; remembered between runs.
struct LayoutShares {
  float left = 0.1875F;   // of the width: the listing
  float right = 0.225F;   // of the width: softmax and traffic
  float bottom = 0.215F;  // of the height: timeline and transport
  float softmax = 0.47F;  // of the right column's height
  bool operator==(const LayoutShares&) const = default;
};

struct Layout {
  Rect top_bar, listing, stage, softmax, traffic, bottom, timeline, transport;
  bool one_column = false;        // listing, softmax and traffic are the same rectangle, with side_tabs over it
  Rect side_tabs;                 // empty where there are three columns
  Rect alone;                     // of a panel that has the window for itself
  std::array<Rect, 4> splitters;  // by Splitter; empty where there is nothing between two panels
};

/// How much smaller than usual everything is in a window of so many points: 1 from 1280x720 up, below that smaller by as much as
/// the window is, in steps of a twentieth, since each bakes the fonts anew; 0.6 at the least, which one can still read.
float scale_of_window(float width, float height);

/// Units  pixels; `scale` is that of the theme. While presenting there is no top bar.
/// Limits  every rectangle but `alone` lies in the window and none overlaps another, from 320x240 up, save the three of one column.
Layout compute_layout(float width, float height, float scale, const LayoutShares& shares, bool present);

/// The shares after `splitter` was dragged to the pointer at (x, y); kept within what compute_layout() can show.
LayoutShares drag_splitter(LayoutShares shares, Splitter splitter, float x, float y, float width, float height, float scale,
                           bool present);

}  // namespace tilescope
