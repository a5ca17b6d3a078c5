// Measurement bundles as JSON: written by `tilescope measure --suite`, read by validate and by the window, with or without CUDA.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/measurement.h"
#include "sim/core/result.h"

namespace tilescope {

/// Returns schema "tilescope.measurements/1": one line block a case, keys as in MeasuredCase.
std::string to_json(const MeasurementBundle& bundle);
/// Errors   not JSON; another schema; a missing key or one of another type: names the case and the key
Result<MeasurementBundle> bundle_from_json(std::string_view text);

}  // namespace tilescope
