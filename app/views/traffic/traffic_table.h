// The traffic panel's table: a row a tensor, and their sum.
#pragma once

#include <optional>

#include "app/views/traffic/traffic_sheet.h"
#include "app/views/view.h"

namespace tilescope {

/// As the switch, the columns and the tooltips name it: "L2→SM".
const char* choice_name(LinkChoice choice);

/// Between the rows and their sum.
float total_gap(const Theme& theme);

/// A header, the rows and the sum, from the cursor to the panel's right edge. Returns the tensor under the mouse.
std::optional<Tensor> draw_traffic_table(const View& view, const TrafficSheet& sheet, LinkChoice choice, float header_height,
                                         float row_height);

}  // namespace tilescope
