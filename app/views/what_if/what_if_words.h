// What the rows of What if say: figures in one unit a column, and why a change helps as much as it does.
#pragma once

#include <string>
#include <vector>

#include "app/views/outcome_words.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/what_if.h"

namespace tilescope {

/// A unit in which a whole column is written, so that its figures compare at a glance.
struct ColumnUnit {
  double size = 1;
  const char* name = "";
};
/// Returns the unit in which `ns`, or so many bytes, have one to three digits before the point.
ColumnUnit time_unit(double ns);
ColumnUnit byte_unit(double bytes);
/// Returns "0.0256 GB", "12 200 MB": three significant digits in a unit.
std::string in_unit(double value, const ColumnUnit& unit);

/// Whether a column says its differences as factors: some of them are too large for a percentage.
bool needs_factors(const std::vector<double>& ratios);
/// Returns "same", or how a figure differs: "−38 %", or "0.62×" where the column says factors.
std::string difference_text(double now, double before, bool as_factor);

/// Returns what bounds a changed run, given what bounds the unchanged run `base` and which limit that names. The changed run has
/// not been simulated without its own limit. If it looks like the unchanged run, it is taken to gain as much from lifting the same
/// limit.
RunBound changed_bound(const Outcome& now, const Outcome& base, const NextLimit* base_limit);

/// The unchanged run, a changed one, and what bounds each.
struct ChangedRun {
  const Outcome& base;
  const Outcome& now;
  RunBound base_bound, now_bound;
};
/// Returns why a change of `part` has the effect that it has, longest text first. A resource that was made faster or slower without
/// effect was little busy. Otherwise it is what bounds the changed run. `noise`: relative change of time that means nothing.
std::vector<std::string> row_reasons(const WhatIfPart& part, const ChangedRun& run, double noise);
/// Returns what bounds a run, for the row of the unchanged one: "tensor cores (95 % busy)".
std::vector<std::string> bound_reasons(const RunBound& run);

}  // namespace tilescope
