// window_options() and render_options(): read the window's and the picture's options from the flags.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"
#include "app/model/window_options.h"

namespace tilescope {

/// Returns every option but `request` and `inputs`, which the caller fills in.
WindowOptions window_options(const CommandLine& line);
/// Returns the options of a picture; `out` and `panel` come from --out and --panel.
RenderOptions render_options(const CommandLine& line);

/// The ways in which the program shows something. They are handed in from above: the command line knows neither.
struct Screens {
  int (*open_window)(const WindowOptions& options);
  /// Returns which fonts are not installed, empty where all are.
  Result<std::string> (*render_picture)(const RenderOptions& options);
};

/// Draws the picture and names missing fonts on `err`.
Status draw_picture(const Screens& screens, const RenderOptions& options, std::FILE* err);

}  // namespace tilescope
