// The simulations that a lesson's expressions are about, and the values of those expressions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_figures.h"
#include "app/model/requests/requested.h"

namespace tilescope {

/// Simulates states, each request once.
class StateRuns {
 public:
  explicit StateRuns(GpuLoader load_gpu) : load_gpu_(load_gpu) {}

  /// A simulation that is there already, and the request as it was asked.
  void know(SimulationRequest asked, std::shared_ptr<const Simulation> simulation) {
    known_.push_back({std::move(asked), std::move(simulation)});
  }

  /// The run of a state, standing where the state says.
  /// Errors  those of the GPU's loader and of simulate(); a step or a cycle beyond the end.
  Result<FigureRun> run(const WindowState& state, const Progress& progress);

 private:
  struct Known {
    SimulationRequest asked;
    std::shared_ptr<const Simulation> simulation;
  };
  GpuLoader load_gpu_;
  std::vector<Known> known_;
};

/// Values by expression.
using ExpressionValues = std::map<std::string, double, std::less<>>;

/// Returns an error of a lesson with its file and line; a cancellation as it is.
Error at_line(const Lesson& lesson, int line, const Error& error);

/// Evaluates expressions of one lesson, each with its line in what is refused.
class LessonEvaluator {
 public:
  LessonEvaluator(const Lesson& lesson, FigureRuns& runs) : lesson_(lesson), runs_(runs) {}

  Result<double> value(const std::string& expression, int line) const;
  Result<double> value(const LessonExpression& expression) const { return value(expression.text, expression.line); }
  /// Adds the values of a text's expressions.
  Status add(const Prose& prose, ExpressionValues& into) const;

 private:
  const Lesson& lesson_;
  FigureRuns& runs_;
};

/// Simulates variants, and gives each its name in expressions. Errors  those of StateRuns::run(), at `line`.
Status add_runs(const Lesson& lesson, int line, const std::vector<LessonVariant>& variants, StateRuns& runs, FigureRuns& into,
                const Progress& progress);

}  // namespace tilescope
