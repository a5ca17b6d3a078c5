// window_options() and render_options(): what the flags of a command line say of the window and of a picture of it.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"
#include "app/model/window_options.h"

namespace tilescope {

/// Everything but what is simulated: `request` and `inputs` are the caller's to fill in.
WindowOptions window_options(const CommandLine& line);
/// The same of a picture; `out` and `panel` are those of --out and --panel.
RenderOptions render_options(const CommandLine& line);

/// The ways in which the program shows something. They are handed in from above: the command line knows neither.
struct Screens {
  int (*open_window)(const WindowOptions& options);
  /// Returns which fonts are not installed, empty where all are.
  Result<std::string> (*render_picture)(const RenderOptions& options);
};

/// Draws the picture, and says on `err` which fonts are not installed.
Status draw_picture(const Screens& screens, const RenderOptions& options, std::FILE* err);

}  // namespace tilescope
