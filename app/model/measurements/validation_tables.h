// The tables of validation that are embedded in the program: what the model was off by, for each case of each shipped bundle.
//
//   tests/validation/*.csv ── cmake/embed_tables.cmake, at build time ──► validation_tables() ──► time_errors_in_table()
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/analysis/validation.h"
#include "sim/core/measurement.h"

namespace tilescope {

/// A table of validation: tests/validation/<name>.csv, which belongs to the bundle of that name.
struct ValidationTable {
  std::string_view name, csv;
};
/// Returns the tables that cmake/embed_tables.cmake embeds.
std::span<const ValidationTable> validation_tables();

/// Returns the relative error of the simulated time of each case, by the table of that name; NaN where the table has none.
std::vector<double> time_errors_in_table(std::string_view name, std::span<const MeasuredCase> cases);

/// Returns the validation of each case, by the table of that name; empty where it lacks one of them.
std::vector<CaseValidation> results_in_table(std::string_view name, std::span<const MeasuredCase> cases,
                                             std::span<const KnownMiss> known);

}  // namespace tilescope
