// run_cli(): the whole program as a function, so that tests can call it.
#pragma once

#include <cstdio>

#include "app/cli/window_options.h"

namespace tilescope {

/// Does what the command line asks. Results go to `out`; an error is one line on `err`.
/// Returns the exit code: 0 done, 1 a check did not hold, 2 the request was wrong, 3 something this machine lacks.
int run_cli(int argc, char** argv, std::FILE* out, std::FILE* err, const Screens& screens);

}  // namespace tilescope
