// `tilescope validate`: every case of a measurement bundle, simulated and held against what was measured.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// Prints a table, or JSON where the line asks for it; writes the file of --markdown. Returns 0 where every bound held, or a
/// numbered limit does, else 1.
/// Errors  no bundle (machine_lacks); a bundle or its GPU's spec that cannot be read, a list that is not in it, a file that cannot
///         be written (wrong_request).
Result<int> run_validate(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
