// Finds the recorded runs that are like a predicted one, and sums their errors.
#include "app/model/measurements/time_errors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "app/model/measurements/compiled_kernel.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"
#include "sim/core/refuse.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

/// A recorded run of a kernel that the model was compared with.
struct JudgedRun {
  const MeasuredCase* measured = nullptr;
  double ns = 0;                           // predicted, at the clock of the recording
  double error = 0;                        // relative, of that time
  bool held_out = false;                   // of the list judge
  const CaseValidation* result = nullptr;  // null where the tables lack a case of its bundle
  bool is_short() const { return ns < short_run_ns; }
};

/// Returns the recorded runs of a kernel on a GPU that have an error in the tables.
std::vector<JudgedRun> judged_runs(const Measurements& known, std::string_view gpu, std::string_view kernel) {
  std::vector<JudgedRun> runs;
  for (const auto& bundle : known.bundles) {
    if (bundle->bundle.gpu != gpu) continue;
    for (std::size_t i = 0; i < bundle->time_errors.size(); ++i) {
      const MeasuredCase& measured = bundle->bundle.cases[i];
      const double error = bundle->time_errors[i];
      if (measured.kernel != kernel || !std::isfinite(error)) continue;
      runs.push_back({&measured, measured.time_cold_ns.median * (1 + error), error, measured.list == "judge",
                      i < bundle->results.size() ? &bundle->results[i] : nullptr});
    }
  }
  return runs;
}

/// Whether a run is like one of these: as short or as long, with as few or as many queries and keys.
Status check_range(std::span<const JudgedRun> runs, const PredictedRun& run, std::string_view kernel) {
  const std::string& gpu = run.request.gpu.id;
  const auto of_time = std::ranges::minmax(runs, {}, &JudgedRun::ns);
  constexpr double digits = 1e-5;  // errors in the tables have six digits after the point
  if (run.ns < of_time.min.ns * (1 - digits))
    return refuse("no run of {} this short is recorded on {}: the shortest takes {}", kernel, gpu,
                  format_time(Nanoseconds(of_time.min.ns)));
  if (run.ns > of_time.max.ns * (1 + digits))
    return refuse("no run of {} this long is recorded on {}: the longest takes {}", kernel, gpu,
                  format_time(Nanoseconds(of_time.max.ns)));
  const auto [q_least, q_most] = std::ranges::minmax(runs, {}, [](const JudgedRun& each) { return each.measured->problem.seq_q; });
  const auto [kv_least, kv_most] =
      std::ranges::minmax(runs, {}, [](const JudgedRun& each) { return each.measured->problem.seq_kv; });
  const AttentionProblem& problem = run.request.problem;
  const std::int64_t queries[] = {q_least.measured->problem.seq_q, q_most.measured->problem.seq_q},
                     keys[] = {kv_least.measured->problem.seq_kv, kv_most.measured->problem.seq_kv};
  if (problem.seq_q < queries[0] || problem.seq_q > queries[1])
    return refuse("runs of {} are recorded on {} with {} to {} queries only", kernel, gpu, format_count(queries[0]),
                  format_count(queries[1]));
  if (problem.seq_kv < keys[0] || problem.seq_kv > keys[1])
    return refuse("runs of {} are recorded on {} with {} to {} keys only", kernel, gpu, format_count(keys[0]),
                  format_count(keys[1]));
  return Done{};
}

/// Returns the names of the runs' problems, by which two runs of one problem are known.
std::vector<std::string> problem_names(std::span<const JudgedRun> runs) {
  std::vector<std::string> names;
  for (const JudgedRun& run : runs) names.push_back(short_text(*run.measured));
  return names;
}

/// The recorded runs that are like a predicted one: as short, or as long.
struct AlikeRuns {
  std::vector<JudgedRun> runs;  // those that the model had not seen are the first of them
  FigureErrors about;           // whose they are and how they differ, without figures
};

Result<AlikeRuns> alike_runs(const Measurements& known, const PredictedRun& run) {
  const GpuSpec& gpu = run.request.gpu;
  if (is_imagined(gpu.id)) return refuse("{} was never built", gpu.id);
  if (has_other_numbers(gpu)) return refuse("the GPU of this file has other numbers than the recorded {}", gpu.id);
  if (!unchanged(gpu) && run.l2_may_decide)
    return refuse("with this change the L2 may decide the time, and how many reads share a lookup is not known");
  SimulationRequest request = run.request;  // flash2_backward is asked for with either pass
  if (const Status settled = settle_program(request); !settled) return settled.error();
  const auto info = find_program(request.algorithm, request.problem.pass);
  for (const std::string_view kernel : {(*info)->id, chosen_by(**info, request.problem)}) {
    AlikeRuns alike{judged_runs(known, gpu.id, kernel), {}};
    std::vector<JudgedRun>& runs = alike.runs;
    if (runs.empty()) continue;
    if (request.problem.pass == Pass::both)
      return refuse("the passes of {} are recorded one by one, and not both in one run", kernel);
    const auto compiled = compiled_kernel(request);
    const bool takes_mask = compiled && (request.masking.empty() || compiled->kernel->takes_masks);
    if (!takes_mask || !compiled->takes_problem || !compiled->tile_is_possible())
      return refuse("no kernel is compiled for this, so no recorded run is like it");
    if (const Status in_range = check_range(runs, run, kernel); !in_range) return in_range.error();
    std::erase_if(runs, [&](const JudgedRun& each) { return each.is_short() != (run.ns < short_run_ns); });
    std::stable_partition(runs.begin(), runs.end(), [](const JudgedRun& each) { return each.held_out; });
    if (runs.empty())
      return run.ns < short_run_ns ? refuse("no run of {} under 20 µs is recorded on {}", kernel, gpu.id)
                                   : refuse("only runs of {} under 20 µs are recorded on {}", kernel, gpu.id);
    alike.about.kernel = kernel;
    alike.about.is_short = runs.front().is_short();
    alike.about.held_out = runs.front().held_out;
    alike.about.other_tile = !compiled->has_tile;
    alike.about.of_unchanged = !unchanged(gpu);
    return alike;
  }
  return refuse("no run of {} is recorded on {}", request.algorithm, gpu.id);
}

/// Sums the errors of one figure; runs without it do not count. The mean is over the runs that the model had not seen, or over all
/// where it had seen all; the worst is that of all.
template <class ErrorOf>
FigureErrors errors_over(const AlikeRuns& alike, const ErrorOf& error_of) {
  FigureErrors errors = alike.about;
  for (const JudgedRun& each : alike.runs)
    if (const std::optional<double> error = error_of(each)) {
      ++errors.all_runs;
      errors.worst = std::max(errors.worst, std::abs(*error));
      if (each.held_out != errors.held_out) continue;
      ++errors.runs;
      errors.mean += std::abs(*error);
    }
  if (errors.runs > 0) errors.mean /= errors.runs;
  return errors;
}

}  // namespace

PredictedRun predicted(const Simulation& simulation) {
  return {simulation.request, simulation.time.value, l2_may_decide(simulation)};
}

PredictedRun predicted(const SimulationRequest& request, const Outcome& outcome) {
  return {request, outcome.wall_ns(), outcome.l2_may_decide()};
}

Result<FigureErrors> time_errors_of(const Measurements& known, const PredictedRun& run) {
  const Result<AlikeRuns> alike = alike_runs(known, run);
  if (!alike) return alike.error();
  return errors_over(*alike, [](const JudgedRun& each) { return std::optional(each.error); });
}

Result<FigureErrors> byte_errors_of(const Measurements& known, const PredictedRun& run, Link link) {
  const Figure figure = link == Link::hbm_read ? Figure::hbm_read : Figure::hbm_write;
  const Result<AlikeRuns> alike = alike_runs(known, run);
  if (!alike) return alike.error();
  const FigureErrors errors = errors_over(*alike, [figure](const JudgedRun& each) -> std::optional<double> {
    if (each.result == nullptr) return std::nullopt;
    const auto& compared = each.result->figure(figure);
    return compared && std::isfinite(compared->error()) ? std::optional(compared->error()) : std::nullopt;
  });
  if (errors.runs == 0) return refuse("no counter of it was recorded");
  return errors;
}

Result<RatioErrors> ratio_errors_of(const Measurements& known, const PredictedRun& a, const PredictedRun& b) {
  if (!unchanged(a.request.gpu) || !unchanged(b.request.gpu)) return refuse("nothing is recorded on a GPU with changed values");
  const auto of_a = time_errors_of(known, a), of_b = time_errors_of(known, b);
  if (!of_a) return of_a.error();
  if (!of_b) return of_b.error();
  const bool one_program = of_a->kernel == of_b->kernel && a.request.gpu.id == b.request.gpu.id;
  if (one_program && (of_a->other_tile || of_b->other_tile || a.request.problem == b.request.problem))
    return refuse(
        "no bundle of recorded runs has two tiles or orders of one program (docs/ladder.md has a few that were measured)");
  const std::vector<JudgedRun> first = judged_runs(known, a.request.gpu.id, of_a->kernel),
                               second = judged_runs(known, b.request.gpu.id, of_b->kernel);
  const std::vector<std::string> first_names = problem_names(first), second_names = problem_names(second);
  for (const bool held_out : {true, false}) {
    RatioErrors errors;
    errors.held_out = held_out;
    for (std::size_t i = 0; i < first.size(); ++i)
      for (std::size_t j = 0; j < second.size(); ++j) {
        const JudgedRun &one = first[i], &other = second[j];
        if (one.is_short() != of_a->is_short || other.is_short() != of_b->is_short) continue;
        if (held_out && !(one.held_out && other.held_out)) continue;
        // Of one program each pair counts once; a short run and a long one are a pair in one order alone.
        if (one_program && of_a->is_short == of_b->is_short && j <= i) continue;
        if ((first_names[i] == second_names[j]) == one_program) continue;
        const double error = std::abs((1 + one.error) / (1 + other.error) - 1);
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

}  // namespace tilescope
