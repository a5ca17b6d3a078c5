// LiveMeasurement: what is shown, measured on this machine's GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/measure/measure_case.h"
#include "sim/core/measurement.h"
#include "sim/core/probe_result.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// What is to be measured: the case, and the row that the kernel is to follow.
struct WhatToMeasure {
  SimulationRequest request;
  TileShape tile;
  std::int64_t plane = 0, query = 0;
  InputSource inputs;
};

/// What a measurement came to.
struct LiveMeasurement {
  MeasurementBundle bundle;  // without cases
  Result<MeasuredCase> measured = Error{};
  std::optional<ProbeResult> probe;
  InputSource inputs;  // that the probe was given
};

/// Opens the device on first use and leaves it open in `device`. Limits  from one thread only
LiveMeasurement measure_live(std::optional<MeasuringSession>& device, const WhatToMeasure& what, const Progress& progress);
/// Samples HBM on the open device; they take as long as all the rest.
std::optional<BandwidthRecord> sample_live(std::optional<MeasuringSession>& device, const WhatToMeasure& what);

}  // namespace tilescope
