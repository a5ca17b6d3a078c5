// The plot of the roofline panel: the roof, its ridge, the marks of the launches, and their legend.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/ui/plot.h"
#include "app/views/view.h"

namespace tilescope {

/// A mark of a launch, or of all of a run. It counts all operations, so that a softmax without products appears.
struct RooflineMark {
  const RooflineKernel* kernel = nullptr;
  const RooflinePoint* point = nullptr;
  PlotPoint at;
  bool whole = false;
  std::string name = {};  // of the pinned run; empty: of its program and launch
};

/// Returns the marks, with `all` those of each level and launch of every program. Else a program beside the shown one has one mark,
/// that of all its launches at HBM.
std::vector<RooflineMark> roofline_marks(const View& view, const RooflineStudy& study, bool all);

/// Returns the axis of operations per byte, with `x`, or that of operations per second.
PlotAxis roofline_axis(const RooflineStudy& study, std::span<const RooflineMark> marks, bool x);

/// Draws the roof, the ridge, the marks, the measured runs, and their labels.
void draw_roofline(Plot& plot, const View& view, const RooflineStudy& study, std::span<const RooflineMark> marks);
/// Shows the figures of the mark under the mouse.
void hover_marks(const Plot& plot, const View& view, const RooflineStudy& study, std::span<const RooflineMark> marks);

/// A part of the legend: a title, a marker with what it stands for, or the switch.
struct LegendItem {
  enum class Kind { title, marker, all_marks } kind = Kind::title;
  Marker marker = Marker::circle;
  std::string text;
  float width = 0;
  ImVec2 at = {};  // from the upper left corner of the legend
};

/// The legend of the marks, and the switch of the other program's marks. It stands outside the plot, where it covers no mark: on
/// the line of the plot's title, or where that is too short on lines above it.
struct RooflineLegend {
  std::vector<LegendItem> items;
  float line = 0, marker = 0;
  float height = 0;  // above the plot; 0: on the line of its title
};

/// Returns the legend for a panel that is `room` wide. `title`: the width of the plot's title. On lines of its own it has fewer
/// words.
RooflineLegend lay_out_legend(const Theme& theme, const RooflineStudy& study, bool all, float room, float title);
/// Draws the legend. Its switch changes `all`.
void draw_legend(const Theme& theme, const RooflineLegend& legend, ImVec2 corner, bool& all);

}  // namespace tilescope
