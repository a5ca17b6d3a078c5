// Layout: panel rectangles, computed from the window's size and the splitter positions.
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
// While a lesson is open it has a column of its own at the left, as high as the window, in the place of the listing. Presented, it
// leaves only the panels that its page looks at.
//
// If large text leaves no room for three columns, one side column shows the listing, the row or the traffic, chosen by tabs.
// A maximised panel takes everything between the bars.
#pragma once

#include <array>
#include <string_view>

#include "app/ui/widgets.h"

namespace tilescope {

/// The least height of timeline and transport where the window has the room, in points.
inline constexpr float least_bottom = 196;

enum class Splitter { left, right, bottom, softmax };
inline constexpr std::array<Splitter, 4> all_splitters = {Splitter::left, Splitter::right, Splitter::bottom, Splitter::softmax};

/// Side panels, in tab order when they share a column.
inline constexpr std::array<std::string_view, 3> side_panels = {"listing", "softmax", "traffic"};

/// Fractions of the window, remembered between runs.
struct LayoutShares {
  float left = 0.1875F;   // of the width: the listing
  float right = 0.225F;   // of the width: softmax and traffic
  float bottom = 0.215F;  // of the height: timeline and transport
  float softmax = 0.47F;  // of the right column's height
  bool operator==(const LayoutShares&) const = default;
};

struct Layout {
  Rect lesson;  // empty while none is open
  Rect top_bar, listing, stage, softmax, traffic, bottom, timeline, transport;
  bool one_column = false;        // listing, softmax and traffic share one rectangle, with side_tabs above
  Rect side_tabs;                 // empty with three columns
  Rect alone;                     // for a maximised panel
  Rect question;                  // to the class, while presenting; empty: it stands below the picture, or there is none
  std::array<Rect, 4> splitters;  // by Splitter; empty if not shown
};

/// Returns the scale of a window in points: 1 from 1280x720 to 1600x900, smaller below, at least 0.6, which is still readable. In a
/// larger window text takes half of what is more. It changes in steps of 1/20, because each step bakes the fonts again.
float scale_of_window(float width, float height);

/// Computes every panel's rectangle. While presenting, a caption stands in place of the top bar, and what there is no room for is
/// empty: the traffic, the listing, the timeline. `sm_rows`: the timeline has the rows of all SMs, and is always there.
/// Units  pixels; `scale` is the theme's
/// Limits  every rectangle but `alone` lies in the window and none overlaps another, from 320x240 up, save the three of one column.
Layout compute_layout(float width, float height, float scale, const LayoutShares& shares, bool present, bool lesson = false,
                      bool sm_rows = false);

/// Gives a presented race the width of the window, and in a low one the timeline's room too: two stages are what it shows. Rows of
/// all SMs keep what the stages do not need.
void give_room_to_race(Layout& layout, float height, float scale, bool sm_rows = false);

/// Presented, the width of what stands beside the picture: the row and the listing, or a question to the class.
float presented_column(float width, float scale);

/// Of the window's width: the text of a presented lesson.
inline constexpr float usual_lesson_share = 0.28F;
/// What a lesson's page looks at while it is presented; nothing else is shown.
struct PresentedLook {
  bool middle = true;  // the stage or another view of the middle
  int beside = 0;      // of the listing, the row and the traffic, at most two
  bool timeline = false;
  float lesson_share = usual_lesson_share;  // 0: its text stands elsewhere
};
/// Computes the rectangles of a presented lesson: `softmax` and `traffic` are those of the first and second panel beside the stage.
/// They stand below it where the window has no room for another column.
/// Limits  those of compute_layout()
Layout present_lesson_layout(float width, float height, float scale, const PresentedLook& look);

/// Returns the fractions after dragging `splitter` to (x, y), limited to what compute_layout() can show.
LayoutShares drag_splitter(LayoutShares shares, Splitter splitter, float x, float y, float width, float height, float scale,
                           bool present);

}  // namespace tilescope
