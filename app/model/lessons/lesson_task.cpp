// Holds each condition of a goal against the scene and against now.
#include "app/model/lessons/lesson_task.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/model/lessons/lesson_expression.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

namespace {

std::string without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

/// A condition of a goal: `less` is to be at most `more`, or equal to it.
struct Condition {
  std::string text, less, more;  // the sides are empty where it is no comparison
  bool equal = false;
};

std::vector<Condition> conditions_of(const std::string& goal) {
  if (goal.find("||") != std::string::npos || goal.find('?') != std::string::npos) return {{goal, {}, {}}};
  std::vector<Condition> all;
  for (std::size_t from = 0; from <= goal.size();) {
    const std::size_t to = std::min(goal.find("&&", from), goal.size());
    Condition one{without_spaces(std::string_view(goal).substr(from, to - from)), {}, {}};
    const std::size_t at = one.text.find_first_of("<>=");
    if (at != std::string::npos) {
      const std::size_t width = one.text.find_first_not_of("<>=", at) - at;
      one.less = without_spaces(std::string_view(one.text).substr(0, at));
      one.more = without_spaces(std::string_view(one.text).substr(at + width));
      one.equal = one.text[at] == '=';
      if (one.text[at] == '>') std::swap(one.less, one.more);
    }
    all.push_back(std::move(one));
    from = to + 2;
  }
  return all;
}

/// Works out what the changes since the scene did to the first condition that does not hold. A figure that the scene lacks tells
/// nothing.
void add_effect(const std::string& goal, std::span<const LessonVariant> others, FigureRuns& names, TaskFigures& out) {
  const auto of_other_run = [&](std::string_view name) {
    const std::string_view first = name.substr(0, name.find('.'));
    return first == scene_run || std::any_of(others.begin(), others.end(), [&](const LessonVariant& v) { return v.name == first; });
  };
  const FigureLookup now = [&](const std::string& name) { return names.value(name); };
  const FigureLookup before = [&](const std::string& name) {
    return names.value(of_other_run(name) ? name : fmt::format("{}.{}", scene_run, name));
  };
  for (const Condition& condition : conditions_of(goal)) {
    if (const auto holds = evaluate(condition.text, now); !holds || *holds != 0) continue;
    const auto read = names_in(condition.text);
    if (!read) return;
    bool moved = false;
    for (const std::string& name : *read) {
      if (of_other_run(name)) continue;
      const auto a = before(name), b = now(name);
      if (!a || !b) continue;
      out.measures.push_back({name, *a, *b});
      moved = moved || *a != *b;
    }
    if (!moved && !out.measures.empty()) out.effect = TaskEffect::unmoved;
    if (!moved || condition.less.empty()) return;
    const auto gap = [&](const FigureLookup& at) -> std::optional<double> {
      const auto less = evaluate(condition.less, at), more = evaluate(condition.more, at);
      if (!less || !more) return std::nullopt;
      return condition.equal ? std::fabs(*less - *more) : *less - *more;
    };
    if (const auto first = gap(before), then = gap(now); first && then && *first != *then)
      out.effect = *then < *first ? TaskEffect::closer : TaskEffect::farther;
    return;
  }
}

}  // namespace

Result<TaskFigures> task_figures(const Lesson& lesson, std::size_t index, const FigureRun& live, StateRuns& runs,
                                 const Measurements& measured, const Progress& progress) {
  const LessonTry& task = *lesson.pages[index].task;
  const LessonScene& scene = lesson.scene_of(index);
  FigureRuns names(measured);
  names.set("", live);
  const Result<FigureRun> opened = runs.run(scene.state, progress);
  if (!opened) return at_line(lesson, scene.line, opened.error());
  names.set(std::string(scene_run), *opened);
  if (const Status added = add_runs(lesson, scene.line, scene.others, runs, names, progress); !added) return added.error();
  const LessonEvaluator evaluator(lesson, names);
  TaskFigures out;
  const Result<double> goal = evaluator.value(task.goal);
  if (!goal) return goal.error();
  out.reached = *goal != 0;
  out.changed = !same_request(live.simulation->request, opened->simulation->request);
  if (!out.reached && out.changed) add_effect(task.goal.text, scene.others, names, out);
  if (const Status added = evaluator.add(task.say, out.shown); !added) return added.error();
  if (out.reached)
    if (const Status added = evaluator.add(task.done, out.shown); !added) return added.error();
  return out;
}

}  // namespace tilescope
