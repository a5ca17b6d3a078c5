// The window, and a picture of it: the two ways in which the program shows what it simulates.
#pragma once

#include "app/model/window_options.h"

namespace tilescope {

/// Opens the window; returns the exit code when it closes.
/// Errors  no display or no OpenGL 3.3: one line on standard error, exit code 3
int run_window(const WindowOptions& options);

/// Draws one picture; equal options give equal bytes. Returns the missing fonts in one sentence, or an empty text.
/// Errors  those of simulate(); an unknown panel (lists the panels); a step beyond the last (with both numbers); no EGL; an
///         unwritable file
Result<std::string> render_picture(const RenderOptions& options);

}  // namespace tilescope
