// `tilescope sweep`: many simulations on all cores, written as they are done, continued where they stopped.
#pragma once

#include <cstdio>

#include "app/cli/window_options.h"

namespace tilescope {

/// Returns the exit code: 0, or 130 when it was stopped by Ctrl-C, after which the files hold what was done.
/// Errors  what make_request() refuses; an axis that cannot be; an unknown algorithm; files of another sweep; none of the points
///         can be simulated; files that cannot be written; for --png, no EGL.
Result<int> run_sweep_command(const CommandLine& line, std::FILE* out, std::FILE* err, const Screens& screens);

}  // namespace tilescope
