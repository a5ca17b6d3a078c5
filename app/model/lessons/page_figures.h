// PageFigures: the values and the runs of a lesson's page, and what of a run may be seen before its question is answered.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "app/model/lessons/lesson_runs.h"
#include "app/model/lessons/lesson_values.h"
#include "app/model/session/measured.h"
#include "sim/core/matrix.h"

namespace tilescope {

/// Figures of a run that need not be hidden before the page's question is answered: its text says them, they do not answer it, or
/// it compares this run with others or with its recording.
struct SaidFigures {
  bool hbm = false, l2 = false, time = false, work = false;
  bool others = false;  // all that has no name here, such as extra memory
  static SaidFigures all() { return {true, true, true, true, true}; }
};

/// A run that a page compares with others.
struct PageRun {
  std::shared_ptr<const Simulation> simulation;
  std::optional<FoundCase> recorded;  // on the hardware, where it was; also of a run at the recording's clock
  SaidFigures said = {};
};

/// A result of two runs of a page whose text or question compares its bits.
struct ComparedResult {
  std::shared_ptr<const Simulation> first, second;
  Tensor tensor;
  std::vector<Matrix> of_first, of_second;  // by plane
  Difference difference;
};

/// The values of a page: those of its texts at the scene's step, those of its reveal and of its reasons where the reveal plays to,
/// and of its question.
struct PageFigures {
  ExpressionValues shown, revealed;
  std::vector<double> values;           // of the options
  double answer = 0;                    // of number; of choice: the place of the right option, 1 first
  std::vector<double> curve;            // of draw, by point
  std::vector<double> near;             // of each reason of the question; 0 where it has no such value
  std::vector<PageRun> runs;            // its scene's first, then those of `others` that are another simulation
  std::vector<ComparedResult> results;  // in the order in which question and reveal name them
};

/// Runs what page `index` names, and evaluates all of it.
/// Errors  each with file and line: what a run or an expression is refused for.
Result<PageFigures> page_figures(const Lesson& lesson, std::size_t index, StateRuns& runs, const Measurements& measured,
                                 const Progress& progress);

}  // namespace tilescope
