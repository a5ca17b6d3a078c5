// `tilescope export`: the file's ending chooses between pictures, films, pages, tables and traces.
#pragma once

#include <cstdio>

#include "app/cli/window_options.h"

namespace tilescope {

/// Errors  those of the simulation and of export_steps(); an unknown ending or sheet (names those there are); a flag that this
/// format
///         does not use; what check_outputs() refuses
Status run_export(const CommandLine& line, std::FILE* out, std::FILE* err, const Screens& screens);

}  // namespace tilescope
