// `tilescope search`: simulates every tile, number of buffers and order that a kernel could take, on all cores, and ranks them.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Whether search takes a program without being told, where the GPU has wgmma: with a mask those with lists, else the rungs of the
/// ladder and what no rung is a variant of.
bool is_taken_for_wgmma(const ProgramInfo& row, bool has_lists);

/// Returns 0, or 130 after Ctrl-C; what was simulated by then is ranked and printed.
/// Errors  what make_request() refuses; an unknown algorithm; no tile that fits; files that cannot be written.
Result<int> run_search(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
