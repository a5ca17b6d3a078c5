// window_options() and render_options(): what the flags of a command line say of the window and of a picture of it.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"
#include "app/window.h"

namespace tilescope {

/// Everything but what is simulated: `request` and `inputs` are the caller's to fill in.
WindowOptions window_options(const CommandLine& line);
/// The same of a picture; `out` and `panel` are those of --out and --panel.
RenderOptions render_options(const CommandLine& line);

/// Draws the picture, and says on `err` which fonts are not installed.
Status draw_picture(const RenderOptions& options, std::FILE* err);

}  // namespace tilescope
