// The validate panel's parts: simulated against measured as a plot, as a table by kernel, as a list of cases, and as raw counters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/ui/plot.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

enum class ValidatePicture : std::uint8_t { scatter, errors, counters };

/// What the panel remembers between frames.
struct ValidatePanelState {
  Figure figure = Figure::hbm_read;
  ValidatePicture picture = ValidatePicture::scatter;
  std::string only_kernel;             // empty: all of them
  std::optional<std::size_t> hovered;  // the case under the mouse, in the plot or in the list
  bool by_error = true;                // the list's order; else that of the bundle
};

/// The kernels of the bundle in their order, which also gives each its mark.
std::vector<std::string> kernels_of(const MeasurementBundle& bundle);
struct KernelMark {
  Marker marker = Marker::circle;
  ImU32 color = 0;
};
KernelMark mark_of(const Theme& theme, std::size_t kernel_index);

/// "HBM read", as the traffic panel calls the links.
const char* figure_name(Figure figure);
/// How a verdict is drawn: a mark as well as a colour, so that it is not said by colour alone.
struct VerdictStyle {
  const char* mark = "";  // "" within, "~" within the spread, "!" known miss, "✗" fails
  ImU32 color = 0;
};
VerdictStyle style_of(const Theme& theme, const std::optional<Verdict>& verdict);
/// "within the hardware's spread", …; of a figure without a bound "no bound".
const char* verdict_name(const std::optional<Verdict>& verdict);
/// Counts the verdicts of the cases that are simulated: each has the worst of its figures.
VerdictCounts case_verdicts(const ValidationState& validation);

/// "+1.2 %", or that nothing was measured.
std::string error_text(const Comparison& comparison);
/// Both values, the range of the measured one, what is allowed, and why a miss is known.
std::string comparison_text(const Comparison& comparison, const MeasuredCase& measured, Figure figure);
/// Over the cases that are simulated: of one kernel, or of all our own, since no bound stands on a library's.
ErrorSummary errors_of(const ValidationState& validation, std::string_view only_kernel, Figure figure);
/// The case that the window shows, where it is one of this bundle.
std::optional<std::size_t> shown_case(const View& view);
/// Opens case `index` of the bundle in the window.
void open_case(const View& view, Commands& commands, std::size_t index);
/// "recorded on NVIDIA H200, 2026-11-21", or "live on …".
std::string provenance_of(const KnownBundle& known);

void draw_validate_plot(const Rect& area, const View& view, Commands& commands, ValidatePanelState& state);
/// One line: how many cases of each verdict, over all figures.
void draw_validate_verdicts(const View& view, float row_height);
void draw_validate_kernels(const View& view, ValidatePanelState& state, float row_height);
void draw_validate_cases(const View& view, Commands& commands, ValidatePanelState& state, float row_height);
void draw_validate_counters(const Rect& area, const View& view, Commands& commands);

}  // namespace tilescope
