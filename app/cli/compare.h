// `tilescope compare`: two runs side by side.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// Errors  what cannot be opened or simulated, with A or B before it; a file that cannot be written; cancelled
Status run_compare(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
