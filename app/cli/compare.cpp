// Opens both runs, simulates them at the clock of their comparison, and writes the tables.
#include "app/cli/compare.h"

#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "app/cli/comparison_report.h"
#include "app/cli/output.h"
#include "app/cli/request.h"
#include "app/cli/watched_work.h"
#include "app/model/measurements/clock_under_load.h"
#include "app/model/measurements/runs_at_clock.h"
#include "app/model/state/state_file.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr std::array names = {"A", "B"};

Error of_run(std::size_t i, const Error& error) {
  return Error{phrase("{}: {}", names[i], error.sentence), error.kind};
}

/// The request of a link, with the flags on top of it.
Result<SimulationRequest> request_of(const CommandLine& line, std::size_t i) {
  const Result<WindowState> state = state_from(line.compared[i]);
  if (!state) return of_run(i, state.error());
  const Result<CommandLine> opened = on_top_of(*state, line);
  if (!opened) return of_run(i, opened.error());
  auto request = make_request(*opened);
  if (!request) return of_run(i, request.error());
  return std::move(request->simulation);
}

Measurements measurements_of_both(const SimulationRequest& a, const SimulationRequest& b) {
  Measurements known = load_measurements_of(a.gpu.id);
  if (a.gpu.id == b.gpu.id) return known;
  const Measurements others = load_measurements_of(b.gpu.id);
  known.bundles.insert(known.bundles.end(), others.bundles.begin(), others.bundles.end());
  if (known.problem.empty()) known.problem = others.problem;
  return known;
}

}  // namespace

Status run_compare(const CommandLine& line, std::FILE* out, std::FILE* err) {
  std::array<std::shared_ptr<const Simulation>, 2> runs;
  std::array<SimulationRequest, 2> requests;
  for (const std::size_t i : {0, 1}) {
    auto request = request_of(line, i);
    if (!request) return request.error();
    requests[i] = std::move(*request);
  }
  WatchedWork work(err, line.quiet, "compare");
  for (const std::size_t i : {0, 1}) {
    const std::string what = fmt::format("run {}", names[i]);
    auto run = simulate(requests[i], [&](double fraction) { return work.show(what, fraction); });
    if (!run) return of_run(i, run.error());
    runs[i] = std::move(*run);
  }
  const Measurements known = measurements_of_both(requests[0], requests[1]);
  say_unread(known, err);
  const auto timed = pair_under_load(known, runs[0], runs[1],
                                     [&](double fraction) { return work.show("both at their clock under load", fraction); });
  if (!timed) return timed.error();
  work.end();
  const RunComparison comparison = compare_runs(timed->first, timed->second);
  Outputs outputs(out);
  if (!line.csv.empty())
    if (Status added = outputs.add(line.csv, std::string(comparison_columns) + comparison_rows(comparison)); !added) return added;
  if (line.json)
    if (Status added = outputs.add(*line.json, comparison_json(comparison, known)); !added) return added;
  if (!standard_output_taken(line))
    if (Status added = outputs.add("-", comparison_table(comparison, known)); !added) return added;
  return outputs.finish();
}

}  // namespace tilescope
