// Reads and writes a sweep as CSV or JSON: the request and every finished point, so that the same command can continue.
//
//   CSV    # tilescope.sweep/1 {request as JSON}                 one row per point, column names in line 2, the last a checksum
//   JSON   {"schema":"tilescope.sweep/1","asked":{…},"points":[…]}
#pragma once

#include <string>
#include <string_view>

#include "sim/analysis/sweep.h"

namespace tilescope {

std::string sweep_to_csv(const SweepResult& result);
std::string sweep_to_json(const SweepResult& result);

/// Reads the points of such a file into `result`. `origin` names the file in errors.
/// Errors  neither CSV nor JSON of a sweep; a point that was cut or altered, with its line or number; a sweep with another range,
/// problem, GPU or
///         program version
Status continue_sweep(std::string_view text, std::string_view origin, SweepResult& result);

}  // namespace tilescope
