// The results of a validation as a CSV table with one row per case, and the regressions against an accepted table.
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

/// One row of the table. `simulated` has 0 for figures that were not compared.
struct ValidationRow {
  std::string kernel, problem, not_simulated;
  SimulatedFigures simulated;
  std::optional<Verdict> verdict;
  std::array<std::optional<double>, figure_count> errors;
  std::array<std::optional<Verdict>, figure_count> verdicts;
};

/// Writes the table. Simulated figures read back to the same bits.
std::string validation_csv(std::span<const MeasuredCase> cases, std::span<const CaseValidation> results);
/// Reads the table.
/// Errors  another heading; a row with too few fields; a field that is not a number or a verdict
Result<std::vector<ValidationRow>> validation_from_csv(std::string_view text);

/// Compares the figures in the rows with the measurements, as if they had just been simulated.
/// Errors  a case without a row, or a row without a case
Result<std::vector<CaseValidation>> results_of(std::span<const ValidationRow> rows, std::span<const MeasuredCase> cases,
                                               std::span<const KnownMiss> known);

/// The growth of a mean error at which the gate fails.
inline constexpr double mean_growth_limit = 0.005;

/// Returns a sentence for each figure whose verdict changed, each mean error that grew by `mean_growth_limit` or more, and each
/// case without a row or row without a case. The means are those of each kernel and of all kernels, over figures with a bound.
std::vector<std::string> regressions(std::span<const ValidationRow> accepted, std::span<const MeasuredCase> cases,
                                     std::span<const CaseValidation> results);

/// Returns a sentence for each simulated figure that differs from its row by more than rounding: the table is then out of date.
std::vector<std::string> differences(std::span<const ValidationRow> rows, std::span<const MeasuredCase> cases,
                                     std::span<const CaseValidation> results);

}  // namespace tilescope
