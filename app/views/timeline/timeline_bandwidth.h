// Draws the measured HBM bandwidth over the simulated one, on the same axis.
#pragma once

#include "app/model/run_data/timeline_axis.h"
#include "app/views/timeline/timeline_picture.h"
#include "app/views/view.h"

namespace tilescope {

/// Converts samples to a curve in simulated cycles; 0 is the first sample with traffic. `clock_hz` is the simulated SM's. Rates are
/// in bytes per simulated cycle.
BandwidthCurve curve_of(const BandwidthRecord& record, double clock_hz, double ceiling);
/// Returns the end of the samples in simulated cycles; 0 without samples and in Race.
double bandwidth_end(const View& view);

/// Draws the measured curve in the HBM row, with a legend.
void draw_measured_bandwidth(ImDrawList* list, const View& view, const TimeWindow& window, const TimelineLayout& layout);
/// Describes the samples at `x`; empty without samples.
std::string measured_bandwidth_text(const View& view, const TimeWindow& window, const TimelineLayout& layout, float x);

}  // namespace tilescope
