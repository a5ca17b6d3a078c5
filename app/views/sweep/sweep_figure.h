// SweepFigure: the picture of a sweep — curves, theory, measured points, where the L2 parts from the theory — for the panel and
// `sweep --png`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/views/study_panel.h"

namespace tilescope {

/// What is plotted of a point, in bytes or nanoseconds.
double sweep_value(const Outcome& outcome, SweepQuantity quantity);
/// "HBM bytes", "L2↔SM bytes", "time", in the language in use.
const char* quantity_name(SweepQuantity quantity);
/// "queries N", "hbm.bytes_per_second".
std::string axis_name(std::string_view key);
/// "N" of "seq"; the key itself where there is no letter for it.
std::string axis_symbol(std::string_view key);

/// What the picture shows in one sentence with numbers, and what it rests on.
struct SweepWords {
  std::string finding, detail;
};
SweepWords sweep_words(const SweepResult& result, SweepQuantity quantity);

/// Draws the picture into `area`; returns what is under the mouse, if anything.
struct SweepHover {
  std::size_t algorithm = 0, value = 0;
};
std::optional<SweepHover> draw_sweep_figure(const View& view, const SweepResult& result, SweepQuantity quantity, const Rect& area);

}  // namespace tilescope
