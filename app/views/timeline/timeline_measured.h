// The measured rows of the timeline: one SM of a real GPU, recorded by the kernel, on the simulated axis.
#pragma once

#include <string>

#include "app/model/run_data/timeline_axis.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"
#include "sim/core/probe_result.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns "recorded with the probe: 62.3 µs; without: 56.4 µs"; empty where the recording has no such times.
std::string probe_cost(double probed_ns, double plain_ns);
/// Compares the simulated run, at the recorded clock, with the kernel without the probe: "simulated 55.1 µs, −2.3 % against the
/// time without the probe". Empty as above, and until it is simulated at that clock.
std::string against_plain(const View& view, const ProbeResult& probe);

/// Returns their height; 0 without a probe, in Race, or if the panel is too low.
float measured_lanes_height(const View& view, float panel_height);
/// Returns the last recorded cycle, or 0.
double measured_end(const View& view);
/// Draws a band per resident block and a line per warp; where warps have roles, a band per role and a line per block. `plot` aligns
/// with the simulated rows, `gutter` is left of it.
void draw_measured_lanes(ImDrawList* list, const View& view, const TimeWindow& window, const Rect& gutter, const Rect& plot);

}  // namespace tilescope
