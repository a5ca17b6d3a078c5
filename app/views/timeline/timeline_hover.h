// What the timeline says about the place under the mouse: an operation, a wait, how busy a lane is, or a bandwidth.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "app/model/timeline_axis.h"
#include "app/views/timeline/timeline_picture.h"

namespace tilescope {

struct HoverText {
  std::string title, body;  // both empty: nothing to say
};

/// Intervals of the focused SM; none where the lane shows only how busy it is.
struct UnderMouse {
  std::optional<std::size_t> bar, wait;
};
UnderMouse find_under_mouse(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout,
                            const TimelineRow& row, const TimeWindow& window, ImVec2 mouse);

/// The operation, wait or stretch of `row` at `mouse`.
HoverText lane_hover(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout, const TimelineRow& row,
                     const TimeWindow& window, ImVec2 mouse);
/// The bandwidth of a curve at `mouse`, and its ceiling.
HoverText curve_hover(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout, const TimelineRow& row,
                      const TimeWindow& window, ImVec2 mouse);
/// "waited 210 cycles for data: K₂ from HBM"; empty when it did not wait.
std::string wait_sentence(const Simulation& simulation, const TimelineData& data, std::size_t interval);

/// What a cause stands for, where it is not known which data: "a free buffer"; empty where nothing was waited for.
std::string cause_text(WaitCause cause);
/// "cycles 200 to 450 (250)"
std::string range_text(double from, double to);

/// The name of a lane in the language in use.
const char* lane_name(Unit unit);

}  // namespace tilescope
