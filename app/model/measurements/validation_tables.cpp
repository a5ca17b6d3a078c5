// Finds a case in the embedded tables.
#include "app/model/measurements/validation_tables.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "sim/analysis/validation_csv.h"

namespace tilescope {

namespace {

std::vector<ValidationRow> rows_in_table(std::string_view name) {
  const auto tables = validation_tables();
  const auto table = std::ranges::find(tables, name, &ValidationTable::name);
  if (table == tables.end()) return {};
  Result<std::vector<ValidationRow>> rows = validation_from_csv(table->csv);
  return rows ? std::move(*rows) : std::vector<ValidationRow>();
}

}  // namespace

std::vector<double> time_errors_in_table(std::string_view name, std::span<const MeasuredCase> cases) {
  std::vector<double> errors(cases.size(), std::numeric_limits<double>::quiet_NaN());
  std::map<std::pair<std::string, std::string>, double> by_case;
  for (const ValidationRow& row : rows_in_table(name))
    if (const auto& error = row.errors[static_cast<std::size_t>(Figure::time)]) by_case[{row.kernel, row.problem}] = *error;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (const auto found = by_case.find({cases[i].kernel, short_text(cases[i])}); found != by_case.end()) errors[i] = found->second;
  return errors;
}

std::vector<CaseValidation> results_in_table(std::string_view name, std::span<const MeasuredCase> cases,
                                             std::span<const KnownMiss> known) {
  Result<std::vector<CaseValidation>> results = results_of(rows_in_table(name), cases, known);
  return results ? std::move(*results) : std::vector<CaseValidation>();
}

}  // namespace tilescope
