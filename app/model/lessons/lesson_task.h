// TaskFigures: whether the simulation on screen reaches the goal of a page's task, and what the changes so far did to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/model/lessons/lesson_runs.h"

namespace tilescope {

/// What the changes since the scene did to what a goal counts.
enum class TaskEffect : std::uint8_t { none, unmoved, closer, farther };

/// A figure that a goal reads: at the page's scene, and in the simulation on screen.
struct TaskMeasure {
  std::string figure;
  double before = 0, now = 0;
  bool operator==(const TaskMeasure&) const = default;
};

/// The figures of a page's task, in the simulation on screen.
struct TaskFigures {
  bool reached = false;
  bool changed = false;                  // whether the simulation is another than that of the scene
  TaskEffect effect = TaskEffect::none;  // none too where the goal has no distance
  std::vector<TaskMeasure> measures;     // of the first condition that does not hold
  ExpressionValues shown;                // of `say`, and of `done` where the goal is reached
};
Result<TaskFigures> task_figures(const Lesson& lesson, std::size_t index, const FigureRun& live, StateRuns& runs,
                                 const Measurements& measured, const Progress& progress);

}  // namespace tilescope
