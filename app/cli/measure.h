// `tilescope measure`: runs real kernels on this machine's GPU, one case or a suite.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// Prints one case as a table or a bundle; for a suite, writes the bundle and one line per case on standard error. Returns 0, or 1
/// if a result is wrong or a case could not be measured.
/// Errors  no GPU, driver or CUDA in this build (machine_lacks); a problem that the kernel does not take, a suite that cannot be
/// read,
///         a file that cannot be written (wrong_request).
Result<int> run_measure(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
