// SweepFigure: the plot of a sweep, with theory and measured points, for the panel and `sweep --png`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/ui/plot.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the plotted quantity in bytes or nanoseconds.
double sweep_value(const Outcome& outcome, SweepQuantity quantity);
/// Names the quantity in the current language.
const char* quantity_name(SweepQuantity quantity);
/// Names the axis: "N, queries and keys", "hbm.bytes_per_second".
std::string axis_name(std::string_view key);
/// Returns the symbol of a key ("N" for "seq"), or the key.
std::string axis_symbol(std::string_view key);

/// The finding of a sweep in one sentence, and its conditions.
struct SweepWords {
  std::string finding, detail;
};
/// Compares the baseline with `on_screen`, or with the last algorithm where that one is not drawn.
SweepWords sweep_words(const SweepResult& result, SweepQuantity quantity, std::string_view on_screen);

/// More programs than five have a legend beside the plot: labels on so many curves would hide them.
bool has_legend(const SweepResult& result);
/// Returns which value of the axis the legend is of: the last at which every program is simulated or refused.
std::optional<std::size_t> legend_value(const SweepResult& result);

/// Returns how far the time of a point is off, or why that is unknown; nullptr until the point is simulated.
const Result<FigureErrors>* errors_at(const View& view, std::size_t algorithm, std::size_t value);

struct SweepHover {
  std::size_t algorithm = 0, value = 0;
};
/// Draws the plot into `whole`, with a legend where programs are many; returns the point under the mouse, if any.
std::optional<SweepHover> draw_sweep_figure(const View& view, const SweepResult& result, SweepQuantity quantity, const Rect& whole);

}  // namespace tilescope
