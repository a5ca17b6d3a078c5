// A sweep as a file, CSV or JSON: what was asked, and every point that has been simulated, so that the same command goes on from
// there.
//
//   CSV    # tilescope.sweep/1 {what was asked, as JSON}        one row a point, columns named in the second line
//   JSON   {"schema":"tilescope.sweep/1","asked":{…},"points":[…]}
#pragma once

#include <string>
#include <string_view>

#include "sim/analysis/sweep.h"

namespace tilescope {

std::string sweep_to_csv(const SweepResult& result);
std::string sweep_to_json(const SweepResult& result);

/// Puts the points of a file that one of the two wrote into `result`. `origin` names the file in errors.
/// Errors  neither CSV nor JSON of a sweep; a row that cannot be read; a sweep over something else, on another problem, GPU or
///         version of the program: its points are not those of this sweep.
Status continue_sweep(std::string_view text, std::string_view origin, SweepResult& result);

}  // namespace tilescope
