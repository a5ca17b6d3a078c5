// The measured column of the traffic panel: what the hardware counted in all, where what is shown was measured.
#pragma once

#include <string>

#include "app/views/traffic/traffic_sheet.h"
#include "app/views/view.h"

namespace tilescope {

/// "recorded", "live", "Nsight Compute", or "measured" over a column of dashes.
const char* measured_heading(const View& view);
/// Where and when it was measured, or what to do for a measurement.
std::string measured_column_meaning(const View& view);

/// All tensors together: the hardware does not know them apart.
struct MeasuredTotal {
  bool known = false;
  std::int64_t bytes = 0;
  bool within = true;   // of the bound that the comparison has
  std::string details;  // for the tooltip: the spread, the error
};
MeasuredTotal measured_total(const View& view, LinkChoice choice);

}  // namespace tilescope
