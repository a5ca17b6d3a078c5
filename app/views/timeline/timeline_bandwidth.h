// The measured HBM bandwidth over the simulated one: samples of the real kernel's life on the time axis of the simulation.
#pragma once

#include "app/model/timeline_axis.h"
#include "app/views/timeline/timeline_picture.h"
#include "app/views/view.h"

namespace tilescope {

/// The samples as a curve in simulated cycles: 0 is the first sample with traffic. `clock_hz` is the simulated SM's, so that both
/// curves stand at the same time. Rates are in bytes a simulated cycle.
BandwidthCurve curve_of(const BandwidthRecord& record, double clock_hz, double ceiling);
/// When the samples end, in simulated cycles; 0 where there are none, and in Race.
double bandwidth_end(const View& view);

/// The measured curve in the HBM's row, with a legend.
void draw_measured_bandwidth(ImDrawList* list, const View& view, const TimeWindow& window, const TimelineLayout& layout);
/// What the samples say at `x`; empty where there are none.
std::string measured_bandwidth_text(const View& view, const TimeWindow& window, const TimelineLayout& layout, float x);

}  // namespace tilescope
