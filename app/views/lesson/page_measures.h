// PageMeasures: distances of a lesson's page, for what draws it and for what adds up its height.
#pragma once

#include <algorithm>
#include <cmath>

#include <imgui.h>

#include "app/ui/theme.h"

namespace tilescope {

/// Units  pixels
struct PageMeasures {
  explicit PageMeasures(const Theme& theme) : PageMeasures(theme.scale, theme.ui_small->FontSize) {}

  float between;                          // below each item
  float gap;                              // between the text, the question and the task
  float pad;                              // inside the box of a question or a task
  float side, edge;                       // beside the page, and above and below it
  float title, progress, below_progress;  // of the lesson; of its bar
  float button, way;                      // of the way on; with the space above it
  float told;                             // what the next press of a clicker does
  float verdict_lines = 3.5F;             // of text: what came of a change to a task
  ImVec2 field;                           // beside and above the text of a number's field

 private:
  PageMeasures(float scale, float small_text)
      : between(std::round(5 * scale)),
        gap(std::round(4 * scale)),
        pad(std::round(10 * scale)),
        side(std::round(2 * scale)),
        edge(std::round(4 * scale)),
        title(std::round(22 * scale)),
        progress(std::max(3.0F, std::round(4 * scale))),
        below_progress(std::round(2 * scale)),
        button(std::round(26 * scale)),
        way(button + std::round(10 * scale)),
        told(std::round(small_text * 1.3F)),
        field(std::round(9 * scale), std::round(4 * scale)) {}
};

}  // namespace tilescope
