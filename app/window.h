// run_window() and render_picture(): open the window, or draw one picture without a display.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/model/center_views.h"
#include "app/model/studies.h"
#include "app/ui/theme.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// The window's initial state. Absent fields use saved settings, else defaults.
struct WindowOptions {
  SimulationRequest request;  // sizes are checked and the GPU is loaded; simulate() may still refuse it
  InputSource inputs;
  std::optional<std::int64_t> step;  // absent: a few steps in
  bool race = false;
  CenterView center = CenterView::stage;
  std::optional<bool> by_sm;  // timeline rows are SMs
  std::optional<ThemeKind> theme;
  std::optional<int> width, height;     // both or neither; logical pixels
  std::optional<float> scale;           // times that of the display
  std::optional<std::string> language;  // "en", "ko"
};

struct RenderOptions {
  SimulationRequest request;
  InputSource inputs;
  std::optional<std::int64_t> step;  // absent: a few steps in
  bool race = false;
  CenterView center = CenterView::stage;
  bool by_sm = false;  // timeline rows are SMs
  ThemeKind theme = ThemeKind::dark;
  int width = 1600, height = 900;  // in pixels
  float scale = 1;
  std::string language = "en";
  std::string panel;                         // an id of panel_table(); empty for the whole window
  std::shared_ptr<const SweepResult> swept;  // shown by the Sweep view; absent: the default sweep
  SweepQuantity sweep_quantity{};
  std::string out;  // the PNG, written by write_file() of app/platform/files.h
};

/// Opens the window; returns the exit code when it closes.
/// Errors  no display or no OpenGL 3.3: one line on standard error, exit code 3
int run_window(const WindowOptions& options);

/// Draws one picture; equal options give equal bytes. Returns the missing fonts in one sentence, or an empty text.
/// Errors  those of simulate(); an unknown panel (lists the panels); a step beyond the last (with both numbers); no EGL; an
///         unwritable file
Result<std::string> render_picture(const RenderOptions& options);

}  // namespace tilescope
