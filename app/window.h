// The window, and a picture of it: the two ways in which the program shows what it simulates.
#pragma once

#include "app/model/session/window_options.h"

namespace tilescope {

/// Opens the window; returns the exit code when it closes.
/// Errors  no display or no OpenGL 3.3: one line on standard error, exit code 3
int run_window(const WindowOptions& options);

/// Draws one picture; the same options give the same bytes. What graphics and font libraries print is dropped.
/// Errors  whatever simulate() refuses, an unknown panel (names those there are), a step beyond the last (with both numbers),
///         no EGL.
Result<RenderedPicture> render_picture(const RenderOptions& options);

/// Draws steps of one run: a file, or one a step.
/// Errors  those of render_picture(); more pictures than a file or a folder should have; no encoder
Result<ExportedSteps> export_steps(const ExportOptions& options);

}  // namespace tilescope
