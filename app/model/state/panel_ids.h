// The ids of the panels, which the window's state stores. The views have a row for each in panel_table().
#pragma once

#include <array>
#include <string_view>

namespace tilescope {

inline constexpr std::array panel_ids =
    std::to_array<std::string_view>({"listing", "stage", "softmax", "traffic", "timeline", "race", "roofline", "what_if", "fit",
                                     "sweep", "compare", "validate", "mask", "banks", "ladder", "presenter", "lesson", "curve"});
/// Panels beside the middle, of which one is shown where they share a column.
inline constexpr std::array<std::string_view, 3> side_panel_ids = {"listing", "softmax", "traffic"};

}  // namespace tilescope
