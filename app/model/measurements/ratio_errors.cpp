// Pairs recorded runs.
#include "app/model/measurements/ratio_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/model/measurements/judged_runs.h"
#include "app/model/requests/assets.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// Returns the names of the runs' problems, by which two runs of one problem are known.
std::vector<std::string> problem_names(std::span<const JudgedRun> runs) {
  std::vector<std::string> names;
  for (const JudgedRun& run : runs) names.push_back(short_text(*run.measured));
  return names;
}

}  // namespace

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
