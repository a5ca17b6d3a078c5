// Reads the tables, and sums the errors of a program.
#include "app/model/measurements/time_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "app/model/measurements/compiled_kernel.h"
#include "sim/analysis/format.h"
#include "sim/analysis/validation_csv.h"
#include "sim/core/refuse.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

/// `held_out`: of those cases alone.
TimeErrors errors_of(const Measurements& known, std::string_view gpu, std::string_view kernel, bool held_out) {
  TimeErrors errors;
  errors.kernel = kernel;
  errors.held_out = held_out;
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

Result<TimeErrors> time_errors_of(const Measurements& known, std::string_view gpu, const SimulationRequest& request) {
  const auto info = find_program(request.algorithm, request.problem.pass);
  if (!info) return info.error();
  for (const std::string_view kernel : {(*info)->id, chosen_by(**info, request.problem)})
    for (const bool held_out : {true, false}) {
      TimeErrors errors = errors_of(known, gpu, kernel, held_out);
      if (errors.runs == 0) continue;
      const auto compiled = compiled_kernel(request);
      const bool takes_mask = compiled && (request.masking.empty() || compiled->kernel->takes_masks);
      if (!takes_mask || !compiled->takes_problem || !compiled->tile_is_possible())
        return refuse("no kernel is compiled for this, so no recorded run is like it");
      errors.other_tile = !compiled->has_tile;
      return errors;
    }
  return refuse("no run of {} is recorded on {}", request.algorithm, gpu);
}

Sentence time_errors_sentence(const Result<TimeErrors>& errors, std::string_view program) {
  const std::string name(program);
  if (!errors) return phrase("How far times of {} are off is unknown: {}.", name, errors.error().sentence);
  const std::string mean = format_percent(errors->mean), worst = format_percent(errors->worst);
  const Sentence said = errors->held_out
                            ? phrase("Times of {} are ±{}: mean of {} recorded runs that the model had not seen, {} at worst.",
                                     name, mean, errors->runs, worst)
                            : phrase("Times of {} are ±{}: mean of {} recorded runs that the model was made with, {} at worst.",
                                     name, mean, errors->runs, worst);
  return errors->other_tile ? phrase("{} They have the kernel's own tile.", said) : said;
}

}  // namespace tilescope
