// `tilescope calibrate`: measures this machine's GPU and writes a GPU spec.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// Writes the spec to --out or to `out`, progress to `err`. Values that no micro-benchmark can see come from the shipped spec of
/// this GPU, or from --gpu.
/// Errors  no GPU, driver or CUDA in this build (machine_lacks); a GPU that no shipped spec is for; a file that cannot be written.
Status run_calibrate(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
