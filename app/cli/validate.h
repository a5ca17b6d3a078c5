// `tilescope validate`: every case of a measurement bundle, simulated and held against what was measured.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// Prints a table, or JSON where the line asks for it; writes the files of --csv and --markdown. Returns 1 where a figure fails or
/// a case cannot be simulated, else 0. Errors  no bundle (machine_lacks); a bundle, its known misses or a spec that cannot be read,
/// a list that is not in the bundle, a
///         file that cannot be written (wrong_request).
Result<int> run_validate(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
