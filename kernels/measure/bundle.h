// Measurement bundles as JSON: written by `tilescope measure --suite`, read by validate and by the window, with or without CUDA.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/measurement.h"
#include "sim/core/result.h"

namespace tilescope {

/// Schema "tilescope.measurements/1", one case a line block, keys as the members of MeasuredCase.
std::string to_json(const MeasurementBundle& bundle);
/// Errors  not JSON; another schema; a key that is missing or of another kind: names the case and the key.
Result<MeasurementBundle> bundle_from_json(std::string_view text);

}  // namespace tilescope
