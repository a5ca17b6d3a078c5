// Results of a validation as a table, one row a case; and what became worse since such a table was accepted.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/validation.h"
#include "sim/core/result.h"

namespace tilescope {

/// One row of the table. Figures that were not compared are 0 in `simulated`.
struct ValidationRow {
  std::string kernel, problem, not_simulated;
  SimulatedFigures simulated;
  std::optional<Verdict> verdict;
  std::array<std::optional<double>, figure_count> errors;
  std::array<std::optional<Verdict>, figure_count> verdicts;
};

/// Simulated figures are written so that they read back to the same bits.
std::string validation_csv(std::span<const MeasuredCase> cases, std::span<const CaseValidation> results);
/// Errors  another heading; a row with too few fields; a field that is not a number or a verdict.
Result<std::vector<ValidationRow>> validation_from_csv(std::string_view text);

/// Compares the figures of each case's row with what was measured, as if they had just been simulated.
/// Errors  a case without a row, or a row without a case.
Result<std::vector<CaseValidation>> results_of(std::span<const ValidationRow> rows, std::span<const MeasuredCase> cases,
                                               std::span<const KnownMiss> known);

/// How much a mean error may grow before the gate fails.
inline constexpr double mean_growth_limit = 0.005;

/// Returns a sentence for each figure that left its accepted verdict, each mean error of a kernel or of all of them that grew by
/// `mean_growth_limit` or more, and each case that is in one of the two alone. Means are over figures that have a bound.
std::vector<std::string> regressions(std::span<const ValidationRow> accepted, std::span<const MeasuredCase> cases,
                                     std::span<const CaseValidation> results);

/// Returns a sentence for each simulated figure that differs from its row by more than rounding: what was written is out of date.
std::vector<std::string> differences(std::span<const ValidationRow> rows, std::span<const MeasuredCase> cases,
                                     std::span<const CaseValidation> results);

}  // namespace tilescope
