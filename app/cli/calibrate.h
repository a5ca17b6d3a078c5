// `tilescope calibrate`: micro-benchmarks on this machine's GPU, written as a GPU spec.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// The spec goes to the file of --out, or to `out`; progress to `err`. What no micro-benchmark can see keeps the value and the
/// source of the shipped spec for this GPU, or of --gpu.
/// Errors  no GPU, driver or CUDA in this build (machine_lacks); a GPU that no shipped spec is for; a file that cannot be written.
Status run_calibrate(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
