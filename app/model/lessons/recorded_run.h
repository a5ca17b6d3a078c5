// recording_of(): what the hardware did in a run of a lesson's page.
#pragma once

#include <optional>

#include "app/model/measurements/find_recorded.h"
#include "app/model/measurements/measurements.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns what was recorded of a run: of the GPU as it is, or at the recording's clock to a thousandth.
std::optional<FoundCase> recording_of(const Measurements& measured, const Simulation& run);

}  // namespace tilescope
