// window_options() and render_options(): read the window's and the picture's options from the flags.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"
#include "app/model/session/window_options.h"

namespace tilescope {

/// Returns every option but `request` and `inputs`, which the caller fills in.
WindowOptions window_options(const CommandLine& line);
/// The same of a picture; `panel` is that of --panel.
RenderOptions render_options(const CommandLine& line);

/// The ways in which the program shows something. They are handed in from above: the command line knows neither.
struct Screens {
  int (*open_window)(const WindowOptions& options) = nullptr;
  Result<RenderedPicture> (*render_picture)(const RenderOptions& options) = nullptr;
  Result<ExportedSteps> (*export_steps)(const ExportOptions& options) = nullptr;
  /// Returns a refusal's pattern in the language of the window that started this program, for what it exports.
  std::string (*translate)(const std::string& pattern) = nullptr;
};

/// Draws the picture. Says on `err` how far long work is.
Result<RenderedPicture> draw_picture(const Screens& screens, RenderOptions options, const CommandLine& line, std::FILE* err);

/// Says on `err` which fonts are not installed. Call it when nothing can fail any more: an error is one line.
void say_notice(const RenderedPicture& picture, std::FILE* err);
/// Says on `err` what a race sets beside the algorithm, where it is not the baseline of its kind: that is the algorithm itself.
void say_racers(const CommandLine& line, std::string_view algorithm, std::FILE* err);

}  // namespace tilescope
