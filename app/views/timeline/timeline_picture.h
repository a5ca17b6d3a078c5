// TimelinePicture: the lanes, bars and curves of the timeline as quads and texts, made when something changed and drawn again until
// then.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "app/model/run_data/timeline_axis.h"
#include "app/model/run_data/timeline_data.h"
#include "app/ui/quad_batch.h"
#include "app/ui/widgets.h"

namespace tilescope {

/// One row of the plot: a lane of a unit, or a bandwidth curve; where lanes are SMs, all SMs together and their launches by name.
struct TimelineRow {
  enum class Kind : std::uint8_t { hbm, l2, unit, launches, sms, measured_launches, measured_sms } kind = Kind::unit;
  std::size_t group = 0;  // 0, and 1 for the second simulation of Race
  std::size_t unit = 0;   // index into TimelineData::lanes
  Rect rect;              // of the plot
};

/// Where everything of the timeline is.
struct TimelineLayout {
  Rect area, plot, axis;
  float launch_strip = 0;  // height above the rows where launches are named; 0 without
  float lane_height = 0;   // of a plain lane
  float hidden = 0;        // by how much the rows are higher than their place
  float scale = 1;         // of the theme
  std::vector<TimelineRow> rows;
};

/// What the layout depends on beside the panel's rectangle.
struct TimelineShape {
  std::size_t groups = 1;  // simulations
  int copy_tracks = 1;     // loads in flight at once: their lane is made higher
  bool several_launches = false;
  float gutter = 100;  // width of the names
  float scale = 1;
  float least_lane = 7;     // height of the lowest lane whose name can be read
  float scroll = 0;         // by how much the rows stand higher, up to what is hidden
  float most_lane = 34;     // height in points of the highest lane
  bool leaves_out = false;  // the last lanes of a race that do not fit are left out, so that nothing needs to be scrolled
  std::array<std::size_t, 2> lanes = {timeline_units.size(), timeline_units.size()};  // of each group
};
/// The part of a font's size that a name needs of a lane's height for neighbours not to touch.
inline constexpr float name_line = 0.85F;
/// Height of the lowest lane whose name can be read in a font of `font_size`; two groups have less room.
inline float least_lane_height(float font_size, std::size_t groups) {
  return (groups > 1 ? 0.72F : 1.0F) * name_line * font_size;
}
/// The plot and its axis in `area`, without rows.
TimelineLayout timeline_frame(const Rect& area, const TimelineShape& shape);
/// Rows of every simulation in `area`. Where there is little room, a lane of loads gets lower first, then curves are left out, and
/// then rows are higher than their place.
TimelineLayout lay_out_timeline(const Rect& area, const TimelineShape& shape);
/// The scroll, from `scroll` on as little as it takes, with which all of `row` is seen.
float scroll_to(const TimelineLayout& layout, const TimelineRow& row, float scroll);

struct TimelineText {
  ImVec2 at;
  ImU32 color = 0;
  std::string text;
};

struct TimelinePicture {
  std::shared_ptr<QuadBatch> quads;
  std::vector<TimelineText> texts;         // in the small font
  std::vector<std::vector<ImVec2>> lines;  // the curves
};

/// Draws every row of `layout` for the cycles in `window`. `data` by group. At most about one quad a pixel.
/// `lit`, if any, is the one tensor that keeps its full colour. `quads`, if any, is emptied and used, so that its memory serves
/// again.
TimelinePicture make_timeline_picture(const Theme& theme, const TimelineLayout& layout, const TimeWindow& window,
                                      std::span<const std::shared_ptr<const TimelineData>> data,
                                      std::span<const std::shared_ptr<const Simulation>> simulations, std::optional<Tensor> lit,
                                      std::shared_ptr<QuadBatch> quads = nullptr);

/// Adds the bars, waits and names of one lane, or how busy it was where bars cannot be told apart. `intervals` and `labels` are
/// those that its bars refer to.
void add_lane(TimelinePicture& picture, const Theme& theme, const TimelineLayout& layout, const TimeWindow& window,
              const TimelineRow& row, const UnitLane& lane, std::span<const Interval> intervals, std::span<const StepLabel> labels,
              const Simulation& simulation, std::optional<Tensor> lit);

/// The part of a lane that one sub-track takes; the whole lane where there is no room for several.
Rect timeline_track(const TimelineRow& row, const UnitLane& lane, int track, float scale);
/// True where bars are too many to be told apart, so that the lane shows how busy it is.
bool lane_is_dense(const TimelineLayout& layout, const UnitLane& lane, const TimeWindow& window);

/// Bytes a cycle of a curve around pixel `x`, averaged over as much time as makes a burst of one tile not look like a peak.
double curve_rate_at(const BandwidthCurve& curve, const TimeWindow& window, const TimelineLayout& layout, float x);
/// What the top of a curve's row stands for.
double curve_top(const BandwidthCurve& curve);

}  // namespace tilescope
