// Probe and bandwidth records as JSON: assets/measured/<gpu>-probe-*.json and <gpu>-hbm-*.json; needs no CUDA.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/probe_result.h"
#include "sim/core/result.h"

namespace tilescope {

/// Schema "tilescope.probe/2".
std::string to_json(const ProbeResult& probe);
/// Errors   not JSON; another schema; a missing key or one of another type: names it; a stage, launch or role that is not there
Result<ProbeResult> probe_from_json(std::string_view text);

/// Schema "tilescope.bandwidth/1".
std::string to_json(const BandwidthRecord& record);
Result<BandwidthRecord> bandwidth_from_json(std::string_view text);

}  // namespace tilescope
