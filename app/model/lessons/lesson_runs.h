// What a page of a lesson needs of the model: its runs, the values of its expressions, and whether an answer is right.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_figures.h"
#include "app/model/session/measured.h"

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

/// Figures of a run that need not be hidden before the page's question is answered: its text says them, it asks for a time and
/// they are bytes, or it compares this run with others or with its recording.
struct SaidFigures {
  bool hbm = false, l2 = false, time = false;
  bool others = false;  // all that has no name here, such as work
};

/// A run that a page compares with others.
struct PageRun {
  std::shared_ptr<const Simulation> simulation;
  std::optional<FoundCase> recorded;  // on the hardware, where it was; also of a run at the recording's clock
  SaidFigures said = {};
};

/// The values of a page: those of its texts at the scene's step, those of its reveal and of its reasons where the reveal plays to,
/// and of its question.
struct PageFigures {
  ExpressionValues shown, revealed;
  std::vector<double> values;  // of the options
  double answer = 0;           // of number; of choice: the place of the right option, 1 first
  std::vector<double> curve;   // of draw, by point
  std::vector<double> near;    // of each reason of the question; 0 where it has no such value
  std::vector<PageRun> runs;   // its scene's first, then those of `others` that are another simulation
};

/// Runs what page `index` names, and evaluates all of it.
/// Errors  each with file and line: what a run or an expression is refused for.
Result<PageFigures> page_figures(const Lesson& lesson, std::size_t index, StateRuns& runs, const Measurements& measured,
                                 const Progress& progress);

/// What the changes since the scene did to what a goal counts.
enum class TaskEffect : std::uint8_t { none, unmoved, closer, farther };

/// A figure that a goal reads: at the page's scene, and in the simulation on screen.
struct TaskMeasure {
  std::string figure;
  double before = 0, now = 0;
  bool operator==(const TaskMeasure&) const = default;
};

/// The same of the page's task, in the simulation on screen.
struct TaskFigures {
  bool reached = false;
  bool changed = false;                  // whether the simulation is another than that of the scene
  TaskEffect effect = TaskEffect::none;  // none too where the goal has no distance
  std::vector<TaskMeasure> measures;     // of the first condition that does not hold
  ExpressionValues shown;                // of `say`, and of `done` where the goal is reached
};
Result<TaskFigures> task_figures(const Lesson& lesson, std::size_t index, const FigureRun& live, StateRuns& runs,
                                 const Measurements& measured, const Progress& progress);

/// What a person answered; which field counts, the kind of the question says.
struct LessonAnswer {
  bool given = true;          // false: the answer was shown without one, as before a class
  int option = 0;             // of choice and point, from 0
  double number = 0;          // in the unit of the question
  std::vector<int> order;     // options, the first place first
  std::vector<double> drawn;  // a value at each x
  bool operator==(const LessonAnswer&) const = default;
};

/// Whether an answer has what its question asks for.
bool is_complete(const LessonQuestion& question, const LessonAnswer& answer);
/// The right option of choice and point, from 0.
int right_option(const LessonQuestion& question, const PageFigures& figures);
/// The options by value, largest first.
std::vector<int> right_order(const PageFigures& figures);
/// From which bend on a curve clearly bends: the mean distance from the straight line between its ends, over its height.
inline constexpr double least_bend = 0.05;
/// The part of that bend that a drawing needs.
inline constexpr double least_part_of_bend = 1.0 / 3;
/// Returns true if a curve over these values of x is drawn on a logarithmic axis: their distances have no common step.
bool logarithmic_axis(const std::vector<double>& xs);
/// Returns where the values of x lie on that axis: 0 at its first value, 1 at its last.
std::vector<double> places_across(const std::vector<double>& xs);
/// How the course of a drawing differs from that of a curve which clearly bends: less than a third of its bend, or the other way.
struct BendMissed {
  bool upwards = false;  // how the curve bends
};
std::optional<BendMissed> bend_missed(const std::vector<double>& xs, const std::vector<double>& drawn,
                                      const std::vector<double>& curve);
/// Which way a drawing is off: its points, or else its bend, which is its shape. nullopt where it is right.
std::optional<DrawnWay> way_off(const std::vector<double>& xs, const std::vector<double>& drawn, const std::vector<double>& curve,
                                double tolerance);
/// How a drawing differs from the curve, for words: how steep it is from end to end, and where the two part or meet.
struct CurveDifference {
  enum class Slope : std::uint8_t { right, too_steep, too_flat, other_way };
  std::optional<Slope> slope;              // nullopt: an end is not positive, so there is no ratio of the ends
  std::optional<std::size_t> parts_after;  // the last point within the tolerance, where all before are too and none after
  std::optional<std::size_t> meets_at;     // the first point within the tolerance, where none before is and all after are
};
/// Growths from end to end that differ by less than this factor are alike.
inline constexpr double like_growth = 1.5;
/// Returns nullopt for fewer than two points, and for lists of other lengths.
std::optional<CurveDifference> curve_difference(const std::vector<double>& xs, const std::vector<double>& drawn,
                                                const std::vector<double>& curve, double tolerance);
/// Whether the answer is right; a drawn curve is within the tolerance of the real one everywhere, and bends as it does.
bool is_right(const LessonQuestion& question, const LessonAnswer& answer, const PageFigures& figures);
/// Returns the first reason that fits a wrong answer; null for a right one, one that was not given, and without a reason.
const LessonWrong* why_wrong(const LessonQuestion& question, const LessonAnswer& answer, const PageFigures& figures);
/// Whether a number is within a tolerance, relative to the real one.
bool is_near(double number, double real, double tolerance);

}  // namespace tilescope
