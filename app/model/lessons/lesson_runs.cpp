// Looks for a run among those that are known before it simulates one.
#include "app/model/lessons/lesson_runs.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "app/model/lessons/lesson_expression.h"
#include "app/model/run_data/arrival.h"
#include "app/model/session/opening.h"
#include "sim/analysis/outcome.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

Result<FigureRun> StateRuns::run(const WindowState& state, const Progress& progress) {
  Result<StateRequest> asked = request_of(state, load_gpu_);
  if (!asked) return asked.error();
  const SimulationRequest& request = asked->request;
  const auto same = [&](const Known& known) {
    return same_request(known.asked, request) && known.asked.focus_sm == request.focus_sm;
  };
  FigureRun run;
  const auto at = std::find_if(known_.begin(), known_.end(), same);
  if (at != known_.end()) run.simulation = at->simulation;
  if (run.simulation == nullptr) {
    auto made = simulate(request, progress);
    if (!made) return made.error();
    run.simulation = std::move(*made);
    know(request, run.simulation);
  }
  if (const Status there = check_position(state, std::span(&run.simulation, 1)); !there) return there.error();
  run.inputs = std::move(asked->inputs);
  run.focus_sm = timeline_key(run.simulation, request.focus_sm).sm;
  run.row = state.row;
  run.banks = state.banks;
  run.step = opening_step(*run.simulation, run.focus_sm);
  if (const auto* step = std::get_if<WindowState::Step>(&state.position)) run.step = step->number;
  if (const auto* cycle = std::get_if<WindowState::Cycle>(&state.position))
    run.step = run.simulation->trace->step_at_cycle(run.focus_sm, cycle->at);
  return run;
}

Error at_line(const Lesson& lesson, int line, const Error& error) {
  if (error.kind == Error::Kind::cancelled) return error;
  return Error{phrase("{}:{}: {}", printable(lesson.origin, 200), line, error.sentence), error.kind};
}

Result<double> LessonEvaluator::value(const std::string& expression, int line) const {
  const Result<double> found = evaluate(expression, [this](const std::string& name) { return runs_.value(name); });
  if (!found) return at_line(lesson_, line, found.error());
  return found;
}

Status LessonEvaluator::add(const Prose& prose, ExpressionValues& into) const {
  for (const FigureText* figure : figures_of(prose)) {
    if (into.contains(figure->expression)) continue;
    const Result<double> found = value(figure->expression, figure->line);
    if (!found) return found.error();
    into.emplace(figure->expression, *found);
  }
  return Done{};
}

Status add_runs(const Lesson& lesson, int line, const std::vector<LessonVariant>& variants, StateRuns& runs, FigureRuns& into,
                const Progress& progress) {
  for (const LessonVariant& variant : variants) {
    const Result<FigureRun> run = runs.run(variant.state, progress);
    if (!run) return at_line(lesson, line, run.error());
    into.set(variant.name, *run);
  }
  return Done{};
}

}  // namespace tilescope
