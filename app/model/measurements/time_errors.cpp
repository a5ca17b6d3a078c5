// Finds the recorded runs that are like a predicted one, and sums their errors.
#include "app/model/measurements/time_errors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/judged_runs.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"
#include "sim/core/refuse.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

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

}  // namespace tilescope
