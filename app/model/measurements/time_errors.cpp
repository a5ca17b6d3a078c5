// Reads the tables, and sums the errors of a program.
#include "app/model/measurements/time_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "app/model/measurements/compiled_kernel.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/format.h"
#include "sim/analysis/validation_csv.h"
#include "sim/core/refuse.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

/// Visits the recorded runs of a kernel on a GPU with the relative error of their predicted time; `held_out`: those of the list
/// judge alone.
template <class Visit>
void for_each_judged_run(const Measurements& known, std::string_view gpu, std::string_view kernel, bool held_out, Visit visit) {
  for (const auto& bundle : known.bundles) {
    if (bundle->bundle.gpu != gpu) continue;
    for (std::size_t i = 0; i < bundle->time_errors.size(); ++i) {
      const MeasuredCase& measured = bundle->bundle.cases[i];
      const double error = bundle->time_errors[i];
      if (measured.kernel == kernel && std::isfinite(error) && (!held_out || measured.list == "judge")) visit(measured, error);
    }
  }
}

TimeErrors errors_of(const Measurements& known, std::string_view gpu, std::string_view kernel, bool held_out) {
  TimeErrors errors;
  errors.kernel = kernel;
  errors.held_out = held_out;
  for_each_judged_run(known, gpu, kernel, held_out, [&](const MeasuredCase&, double error) {
    ++errors.runs;
    errors.mean += std::abs(error);
    errors.worst = std::max(errors.worst, std::abs(error));
  });
  if (errors.runs > 0) errors.mean /= errors.runs;
  return errors;
}

/// A recorded run with the relative error of its predicted time.
struct JudgedRun {
  std::string problem;
  double error = 0;
};

std::vector<JudgedRun> judged_runs(const Measurements& known, std::string_view gpu, std::string_view kernel, bool held_out) {
  std::vector<JudgedRun> runs;
  for_each_judged_run(known, gpu, kernel, held_out, [&](const MeasuredCase& measured, double error) {
    runs.push_back({short_text(measured), error});
  });
  return runs;
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

Result<TimeErrors> time_errors_of(const Measurements& known, std::string_view gpu, const SimulationRequest& asked) {
  if (is_imagined(gpu)) return refuse("{} was never built", gpu);
  SimulationRequest request = asked;  // flash2_backward is asked for with either pass
  if (const Status settled = settle_program(request); !settled) return settled.error();
  const auto info = find_program(request.algorithm, request.problem.pass);
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

Result<RatioErrors> ratio_errors_of(const Measurements& known, const SimulationRequest& a, const SimulationRequest& b) {
  if (!unchanged(a.gpu) || !unchanged(b.gpu)) return refuse("nothing is recorded on a GPU with changed values");
  const auto of_a = time_errors_of(known, a.gpu.id, a), of_b = time_errors_of(known, b.gpu.id, b);
  if (!of_a) return of_a.error();
  if (!of_b) return of_b.error();
  const bool one_program = of_a->kernel == of_b->kernel && a.gpu.id == b.gpu.id;
  if (one_program && (of_a->other_tile || of_b->other_tile || a.problem == b.problem))
    return refuse(
        "no bundle of recorded runs has two tiles or orders of one program (docs/ladder.md has a few that were measured)");
  for (const bool held_out : {true, false}) {
    const auto first = judged_runs(known, a.gpu.id, of_a->kernel, held_out),
               second = judged_runs(known, b.gpu.id, of_b->kernel, held_out);
    RatioErrors errors;
    errors.held_out = held_out;
    for (std::size_t i = 0; i < first.size(); ++i)
      for (std::size_t j = one_program ? i + 1 : 0; j < second.size(); ++j) {
        if ((first[i].problem == second[j].problem) == one_program) continue;
        const double error = std::abs((1 + first[i].error) / (1 + second[j].error) - 1);
        ++errors.pairs;
        errors.mean += error;
        errors.worst = std::max(errors.worst, error);
      }
    if (errors.pairs == 0) continue;
    errors.mean /= errors.pairs;
    return errors;
  }
  return refuse("no two such runs are recorded");
}

Sentence ratio_errors_sentence(const Result<RatioErrors>& errors, std::string_view a, std::string_view b) {
  const std::string first(a), second(b);
  if (!errors)
    return first == second ? phrase("How far the ratio of two times of {} is off is unknown: {}.", first, errors.error().sentence)
                           : phrase("How far the ratio of a time of {} to one of {} is off is unknown: {}.", first, second,
                                    errors.error().sentence);
  const std::string mean = format_percent(errors->mean), worst = format_percent(errors->worst);
  const Sentence of = errors->held_out ? phrase("recorded runs that the model had not seen") : phrase("recorded runs");
  if (errors->pairs == 1)
    return first == second ? phrase("The ratio of two times of {} was off by {} in one pair of {}, the only one.", first, mean, of)
                           : phrase("The ratio of a time of {} to one of {} was off by {} in one pair of {}, the only one.", first,
                                    second, mean, of);
  return first == second ? phrase("The ratio of two times of {} is ±{}: mean of {} pairs of {}, {} at worst.", first, mean,
                                  errors->pairs, of, worst)
                         : phrase("The ratio of a time of {} to one of {} is ±{}: mean of {} pairs of {}, {} at worst.", first,
                                  second, mean, errors->pairs, of, worst);
}

Sentence imagined_gpu_sentence(std::string_view gpu) {
  return phrase("{} was never built, so its times have nothing to be compared with.", std::string(gpu));
}

Sentence time_errors_sentence(const Result<TimeErrors>& errors, std::string_view program, std::string_view gpu) {
  if (is_imagined(gpu)) return imagined_gpu_sentence(gpu);
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
