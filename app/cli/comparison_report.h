// What `compare` prints and writes, and the CSV of `export --sheet compare`.
#pragma once

#include <string>
#include <string_view>

#include "app/model/measurements/measurements.h"
#include "sim/analysis/run_comparison.h"

namespace tilescope {

inline constexpr std::string_view comparison_columns = "group,figure,of,first,second,difference,refusal\n";
/// Returns a line a setting that differs and a line a figure. The refusal is empty.
std::string comparison_rows(const RunComparison& comparison);

/// Returns a table: both runs, how much faster the second is and how far that is off, settings, and figures. Times and bytes are
/// all there; of the other figures, those that differ. `known`: the recordings that say how far times were off.
std::string comparison_table(const RunComparison& comparison, const Measurements& known);

/// Returns one JSON object of schema "tilescope.comparison/1" and a newline.
std::string comparison_json(const RunComparison& comparison, const Measurements& known);

}  // namespace tilescope
