// `tilescope run`: an algorithm on given tensors, by the real kernel or by the tile machine; the results become .npy files.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"

namespace tilescope {

/// Reads --q, --k, --v and --do, runs, and writes the results into the folder --out.
/// Errors  a file that is no array of floats [B,H,N,d]; files, or a flag, that contradict each other: both values; what
/// make_request(),
///         the kernel and the tile machine refuse; a folder that cannot be written.
Result<int> run_tensors(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
