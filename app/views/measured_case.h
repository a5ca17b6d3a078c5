// The measured case beside a simulated run, and what it is called.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/model/measurements/measurements.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the measured case of `algorithm` and this problem on the unchanged GPU, with any tile, or nullptr.
const MeasuredCase* measured_case(const View& view, std::string_view algorithm, const AttentionProblem& problem);
/// Returns "measured at 1.72 GHz, recorded 2026-11-21", the day of the bundle that has the case.
std::string measured_label(const View& view, const MeasuredCase& measured);
/// Returns the median of a counter, or nullopt.
std::optional<double> counter(const MeasuredCase& measured, std::string_view key);

}  // namespace tilescope
