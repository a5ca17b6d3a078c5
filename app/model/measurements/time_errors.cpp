// Reads the tables, and sums the errors of a program.
#include "app/model/measurements/time_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sim/analysis/validation_csv.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

/// `held_out`: of those cases alone.
TimeErrors errors_of(const Measurements& known, std::string_view gpu, std::string_view kernel, bool held_out) {
  TimeErrors errors{std::string(kernel), 0, held_out};
  for (const auto& bundle : known.bundles) {
    if (bundle->bundle.gpu != gpu) continue;
    for (std::size_t i = 0; i < bundle->time_errors.size(); ++i) {
      const MeasuredCase& measured = bundle->bundle.cases[i];
      const double error = std::abs(bundle->time_errors[i]);
      if (measured.kernel != kernel || !std::isfinite(error) || (held_out && measured.list != "judge")) continue;
      ++errors.runs;
      errors.mean += error;
      errors.worst = std::max(errors.worst, error);
    }
  }
  if (errors.runs > 0) errors.mean /= errors.runs;
  return errors;
}

}  // namespace

std::vector<double> time_errors_in_table(std::string_view name, std::span<const MeasuredCase> cases) {
  std::vector<double> errors(cases.size(), std::numeric_limits<double>::quiet_NaN());
  const auto tables = validation_tables();
  const auto table = std::ranges::find(tables, name, &ValidationTable::name);
  if (table == tables.end()) return errors;
  const auto rows = validation_from_csv(table->csv);
  if (!rows) return errors;
  std::map<std::pair<std::string, std::string>, double> by_case;
  for (const ValidationRow& row : *rows)
    if (const auto& error = row.errors[static_cast<std::size_t>(Figure::time)]) by_case[{row.kernel, row.problem}] = *error;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (const auto found = by_case.find({cases[i].kernel, short_text(cases[i])}); found != by_case.end()) errors[i] = found->second;
  return errors;
}

std::optional<TimeErrors> time_errors_of(const Measurements& known, std::string_view gpu, const SimulationRequest& request) {
  const auto info = find_program(request.algorithm, request.problem.pass);
  if (!info) return std::nullopt;
  for (const std::string_view kernel : {(*info)->id, chosen_by(**info, request.problem)})
    for (const bool held_out : {true, false})
      if (TimeErrors errors = errors_of(known, gpu, kernel, held_out); errors.runs > 0) return errors;
  return std::nullopt;
}

}  // namespace tilescope
