// `tilescope validate --ncu FILE`: a simulation beside the counters that Nsight Compute wrote.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"
#include "sim/core/result.h"

namespace tilescope {

/// Returns the exit code: 1 where a figure is beyond its bound.
/// Errors  those of make_request(), simulate() and import_counters(); no --gpu where the file does not name a known one
Result<int> run_validate_ncu(const CommandLine& line, std::FILE* out);

}  // namespace tilescope
