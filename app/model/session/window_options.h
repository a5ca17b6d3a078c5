// What is asked of the window: to open it, or to draw one picture of it without a display.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/session/studies.h"
#include "app/model/state/center_views.h"
#include "app/model/state/deck.h"
#include "app/platform/theme_kind.h"
#include "sim/engine/simulation.h"
#include "sim/engine/trace.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// What the window shows first. An absent field leaves the choice to the window: what it remembers, else its default.
struct WindowOptions {
  std::shared_ptr<const WindowState> state;  // of a link; null: none. Its request is `request`
  std::shared_ptr<const Deck> deck;          // of --deck; null: none
  std::string deck_path;
  int scene = 0;              // of the deck, 0 first
  SimulationRequest request;  // checked sizes and a loaded GPU; what only simulate() can refuse may still be in it
  InputSource inputs;
  std::string gpu;                   // what the GPU was loaded by: an id, or the path of a file
  std::optional<std::int64_t> step;  // absent: a few steps in
  Race race;
  CenterView center = CenterView::stage;
  std::optional<bool> by_sm;  // lanes of the timeline
  std::string ncu;            // a CSV of Nsight Compute; empty: none
  std::optional<ThemeKind> theme;
  std::optional<int> width, height;     // both or neither; logical pixels
  std::optional<float> scale;           // times that of the display
  std::optional<std::string> language;  // "en", "ko"
  std::string lesson;                   // id, number or file of a lesson to open; empty: none
};

struct RenderOptions {
  std::shared_ptr<const WindowState> state;  // as of the window
  std::shared_ptr<const Deck> deck;
  std::string deck_path;
  int scene = 0;
  SimulationRequest request;
  InputSource inputs;
  std::optional<std::int64_t> step;  // absent: the window's own choice, a few steps in
  Race race;
  CenterView center = CenterView::stage;
  bool by_sm = false;    // lanes of the timeline
  bool present = false;  // as while presenting
  std::string ncu;       // a CSV of Nsight Compute; empty: none
  ThemeKind theme = ThemeKind::dark;
  int width = 1600, height = 900;  // of the picture, in pixels
  float scale = 1;
  std::string language = "en";
  std::string lesson;                        // "ID", "ID:PAGE" or "ID:PAGE:answered=2"; empty: none
  bool lesson_beside = false;                // the lesson's text stands beside the picture, and not in it
  std::string panel;                         // an id of panel_table() of the views; empty for the whole window
  std::shared_ptr<const SweepResult> swept;  // what the Sweep view shows; absent: its usual one
  SweepQuantity sweep_quantity{};
  std::function<void(const std::string& what, double fraction)> told;  // hears how far the work is, from any thread; may be empty
};

enum class ExportFormat { gif, mp4, svg, png, html };

/// Steps of a run, as --steps gives them; without a `last` up to the end of the run.
struct ExportSteps {
  std::int64_t first = 0;
  std::optional<std::int64_t> last;
};

/// What `export` draws: the same picture at many steps.
struct ExportOptions {
  RenderOptions picture;  // its step is not looked at
  ExportFormat format = ExportFormat::png;
  std::optional<ExportSteps> steps;  // absent: the step at which the window opens
  bool one_scene = false;            // of a deck, as pictures: that of `picture`; else a file for each
  Grain grain = Grain::operation;
  int frames_per_second = 20;   // of motion from a step to the next, in .gif and .mp4
  double seconds_per_step = 1;  // motion and rest
  bool caption = true;          // names problem, GPU, step and line in the picture
};

/// What was drawn: one file, or one a step.
struct ExportedSteps {
  struct File {
    std::optional<std::int64_t> step;  // of numbered files; of a deck the scene, 1 first
    std::string bytes;
  };
  std::vector<File> files;
  std::int64_t last_step = 0;  // of the run or of the deck, for the width of the numbers
  std::string notice;          // fonts that are not installed, and what the encoder cannot do; empty where nothing is amiss
};

/// A drawn picture.
struct RenderedPicture {
  std::string png;     // the bytes of the file
  std::string notice;  // which fonts are not installed; empty where all are
};

}  // namespace tilescope
