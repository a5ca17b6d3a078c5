// `tilescope search`: simulates every tile, number of buffers and order that a kernel could take, on all cores, and ranks them.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// Returns 0, or 130 after Ctrl-C; what was simulated by then is ranked and printed.
/// Errors  what make_request() refuses; an unknown algorithm; no tile that fits; files that cannot be written.
Result<int> run_search(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
