// `tilescope sweep`: runs many simulations on all cores, writes each as it finishes, and continues an interrupted sweep.
#pragma once

#include <cstdio>

#include "app/cli/window_options.h"

namespace tilescope {

/// Returns 0, or 130 after Ctrl-C; the files then hold the finished points.
/// Errors  what make_request() refuses; an invalid axis; an unknown algorithm; files of another sweep; none of the points
///         can be simulated; files that cannot be written; for --png, no EGL.
Result<int> run_sweep_command(const CommandLine& line, std::FILE* out, std::FILE* err, const Screens& screens);

}  // namespace tilescope
