// `tilescope measure`: real kernels on this machine's GPU, one case or a suite.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// One case: a table, or a bundle with one case where the line asks for JSON. A suite: a line a case on standard error, and the
/// bundle. Returns 0, or 1 where the kernel's result was wrong or a case of the suite could not be measured. Errors  no GPU, driver
/// or CUDA in this build (machine_lacks); a problem that the kernel does not take, a suite that cannot be read,
///         a file that cannot be written (wrong_request).
Result<int> run_measure(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
