// Pages against the model.
#include "app/model/lessons/lesson_runs.h"

#include "app/model/lessons/lesson_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/model/lessons/lesson_expression.h"
#include "app/model/lessons/recorded_run.h"
#include "app/model/run_data/arrival.h"
#include "app/model/session/opening.h"
#include "sim/analysis/outcome.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

Error at_line(const Lesson& lesson, int line, const Error& error) {
  if (error.kind == Error::Kind::cancelled) return error;
  return Error{phrase("{}:{}: {}", printable(lesson.origin, 200), line, error.sentence), error.kind};
}

/// Evaluates expressions of one lesson, each with its line in what is refused.
class Evaluator {
 public:
  Evaluator(const Lesson& lesson, FigureRuns& runs) : lesson_(lesson), runs_(runs) {}

  Result<double> value(const std::string& expression, int line) const {
    const Result<double> found = evaluate(expression, [this](const std::string& name) { return runs_.value(name); });
    if (!found) return at_line(lesson_, line, found.error());
    return found;
  }
  Result<double> value(const LessonExpression& expression) const { return value(expression.text, expression.line); }

  Status add(const Prose& prose, ExpressionValues& into) const {
    for (const FigureText* figure : figures_of(prose)) {
      if (into.contains(figure->expression)) continue;
      const Result<double> found = value(figure->expression, figure->line);
      if (!found) return found.error();
      into.emplace(figure->expression, *found);
    }
    return Done{};
  }

 private:
  const Lesson& lesson_;
  FigureRuns& runs_;
};

Status add_runs(const Lesson& lesson, int line, const std::vector<LessonVariant>& variants, StateRuns& runs, FigureRuns& into,
                const Progress& progress) {
  for (const LessonVariant& variant : variants) {
    const Result<FigureRun> run = runs.run(variant.state, progress);
    if (!run) return at_line(lesson, line, run.error());
    into.set(variant.name, *run);
  }
  return Done{};
}

Status add_question(const Lesson& lesson, const LessonQuestion& ask, const Evaluator& scene, StateRuns& runs,
                    const Measurements& measured, PageFigures& out, const Progress& progress) {
  if (const Status added = scene.add(ask.question, out.shown); !added) return added;
  for (const Prose& option : ask.options)
    if (const Status added = scene.add(option, out.shown); !added) return added;
  for (const LessonExpression& value : ask.values) {
    const Result<double> found = scene.value(value);
    if (!found) return found.error();
    out.values.push_back(*found);
  }
  if (!ask.answer.empty()) {
    const Result<double> found = scene.value(ask.answer);
    if (!found) return found.error();
    out.answer = *found;
  }
  for (const LessonWrong& wrong : ask.wrong) {
    const Result<double> found = wrong.near.empty() ? Result<double>(0) : scene.value(wrong.near);
    if (!found) return found.error();
    out.near.push_back(*found);
  }
  for (std::size_t i = 0; i < ask.points.size(); ++i) {
    FigureRuns at_point(measured);
    const Result<FigureRun> run = runs.run(ask.points[i], progress);
    if (!run) return at_line(lesson, ask.line, run.error());
    at_point.set("", *run);
    if (const Status added = add_runs(lesson, ask.line, ask.point_others[i], runs, at_point, progress); !added) return added;
    const Result<double> found = Evaluator(lesson, at_point).value(ask.curve);
    if (!found) return found.error();
    out.curve.push_back(*found);
  }
  return Done{};
}

void note_said(const Prose& prose, std::string_view run, std::span<const LessonVariant> others, SaidFigures& said) {
  for (const FigureText* figure : figures_of(prose)) {
    const auto names = names_in(figure->expression);
    if (!names) continue;
    for (std::string_view name : *names) {
      const std::string_view first = name.substr(0, name.find('.'));
      const bool of_other = std::ranges::any_of(others, [&](const LessonVariant& other) { return other.name == first; });
      if (of_other ? first != run : !run.empty()) continue;
      if (of_other) name.remove_prefix(std::min(name.size(), first.size() + 1));
      said.hbm = said.hbm || name == "hbm" || name == "hbm_read";
      said.l2 = said.l2 || name == "l2_to_sm";
      said.time = said.time || name == "us" || name == "cycles";
    }
  }
}

/// The figures that a question's answer is made of, by their names.
std::vector<std::string> figures_asked(const LessonQuestion& ask) {
  std::vector<LessonExpression> read = ask.values;
  read.insert(read.end(), {ask.answer, ask.curve});
  std::vector<std::string> out;
  for (const LessonExpression& expression : read)
    if (const auto names = names_in(expression.text)) out.insert(out.end(), names->begin(), names->end());
  return out;
}

/// Bytes of one tensor are parts of a bar: a question about them needs the whole bar hidden.
void keep_parts(const std::vector<std::string>& asked, SaidFigures& said) {
  for (const std::string& name : asked) {
    said.hbm = said.hbm && name.find("hbm.") == std::string::npos && name.find("hbm_read.") == std::string::npos;
    said.l2 = said.l2 && name.find("l2_to_sm.") == std::string::npos;
  }
}

/// Whether a question is answered by times and nothing else: then no byte answers it.
bool asks_time_alone(const std::vector<std::string>& asked) {
  const auto is_time = [](std::string_view name) {
    const std::string_view figure = name.substr(name.rfind('.') + 1);
    return figure == "us" || figure == "cycles";
  };
  return !asked.empty() && std::ranges::all_of(asked, is_time);
}

/// Whether a question compares the scene's run with other runs, or with its recording. What is simulated of that run does not
/// answer it then.
bool compares_scene(const std::vector<std::string>& asked, std::span<const LessonVariant> others) {
  const auto of_other = [&](std::string_view name) {
    return std::ranges::any_of(others, [&](const LessonVariant& other) { return name.substr(0, name.find('.')) == other.name; });
  };
  const auto recorded = [](std::string_view name) { return name.find("measured.") != std::string_view::npos; };
  return std::ranges::any_of(asked, of_other) || (std::ranges::any_of(asked, recorded) && !std::ranges::all_of(asked, recorded));
}

/// What may be seen of a run before the answer: the figures that the texts above it say, the bytes where it is a time, and all of
/// the scene's run where that is compared; `run` is its name, empty for that of the scene.
SaidFigures said_figures(const LessonPage& page, std::string_view run, std::span<const LessonVariant> others) {
  SaidFigures said;
  note_said(page.prose, run, others, said);
  if (!page.ask) return said;
  note_said(page.ask->question, run, others, said);
  for (const Prose& option : page.ask->options) note_said(option, run, others, said);
  const std::vector<std::string> asked = figures_asked(*page.ask);
  if (run.empty() && compares_scene(asked, others)) return {true, true, true, true};
  keep_parts(asked, said);
  if (asks_time_alone(asked)) said.hbm = said.l2 = true;
  return said;
}

/// A run once: others may only be at another step of it, or at another SM.
std::vector<PageRun> runs_of_scene(const LessonPage& page, const LessonScene& scene, const FigureRuns& names,
                                   const Measurements& measured) {
  std::vector<PageRun> out;
  const auto add = [&](const std::string& name) {
    const std::shared_ptr<const Simulation>& run = names.run(name).simulation;
    const auto same = [&](const PageRun& known) { return same_request(known.simulation->request, run->request); };
    if (std::any_of(out.begin(), out.end(), same)) return;
    out.push_back({run, recording_of(measured, *run), said_figures(page, name, scene.others)});
  };
  add("");
  for (const LessonVariant& variant : scene.others) add(variant.name);
  return out;
}

}  // namespace

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

Result<PageFigures> page_figures(const Lesson& lesson, std::size_t index, StateRuns& runs, const Measurements& measured,
                                 const Progress& progress) {
  const LessonPage& page = lesson.pages[index];
  const LessonScene& scene = lesson.scene_of(index);
  const Result<FigureRun> run = runs.run(scene.state, progress);
  if (!run) return at_line(lesson, scene.line, run.error());
  FigureRuns names(measured);
  names.set("", *run);
  if (const Status added = add_runs(lesson, scene.line, scene.others, runs, names, progress); !added) return added.error();
  const Evaluator evaluator(lesson, names);
  PageFigures out;
  out.runs = runs_of_scene(page, scene, names, measured);
  if (const Status added = evaluator.add(page.prose, out.shown); !added) return added.error();
  for (const Prose& note : page.notes)
    if (const Status added = evaluator.add(note, out.shown); !added) return added.error();
  if (page.ask)
    if (const Status added = add_question(lesson, *page.ask, evaluator, runs, measured, out, progress); !added)
      return added.error();
  if (!page.reveal) return out;
  FigureRun then = *run;
  const std::int64_t last = then.simulation->trace->step_count(then.focus_sm);
  if (page.reveal->play == LessonReveal::Play::end) then.step = last;
  if (page.reveal->play == LessonReveal::Play::step) {
    then.step = page.reveal->step;
    if (then.step > last)
      return at_line(lesson, page.ask->line, refuse("the reveal plays to step {}: the run has steps 0 to {}", then.step, last));
  }
  names.set("", then);
  if (const Status added = evaluator.add(page.reveal->say, out.revealed); !added) return added.error();
  for (const LessonWrong& wrong : page.ask->wrong)
    if (const Status added = evaluator.add(wrong.say, out.revealed); !added) return added.error();
  return out;
}

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
  const Evaluator evaluator(lesson, names);
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

bool is_complete(const LessonQuestion& question, const LessonAnswer& answer) {
  if (!answer.given) return true;
  const auto options = static_cast<int>(question.options.size());
  const auto finite = [](double value) { return std::isfinite(value); };
  switch (question.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      return answer.option >= 0 && answer.option < options;
    case QuestionKind::number:
      return finite(answer.number);
    case QuestionKind::order: {
      std::vector<int> sorted = answer.order, all(question.options.size());
      std::sort(sorted.begin(), sorted.end());
      std::iota(all.begin(), all.end(), 0);
      return sorted == all;
    }
    case QuestionKind::draw:
      return answer.drawn.size() == question.xs.size() && std::all_of(answer.drawn.begin(), answer.drawn.end(), finite);
  }
  return false;
}

int right_option(const LessonQuestion& question, const PageFigures& figures) {
  if (figures.values.empty()) {
    const auto most = static_cast<double>(question.options.size());
    return static_cast<int>(std::lround(std::clamp(figures.answer, 1.0, most))) - 1;
  }
  const auto& values = figures.values;
  const auto best =
      question.smallest ? std::min_element(values.begin(), values.end()) : std::max_element(values.begin(), values.end());
  return static_cast<int>(best - values.begin());
}

std::vector<int> right_order(const PageFigures& figures) {
  std::vector<int> order(figures.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return figures.values[static_cast<std::size_t>(a)] > figures.values[static_cast<std::size_t>(b)];
  });
  return order;
}

bool is_near(double number, double real, double tolerance) {
  return std::fabs(number - real) <= tolerance * std::fabs(real) + 1e-12;
}

bool logarithmic_axis(const std::vector<double>& xs) {
  const double widest = xs.back() - xs.front();
  for (std::size_t i = 2; i < xs.size(); ++i) {
    const double steps = (xs[i] - xs[i - 1]) / (xs[1] - xs[0]);
    if (std::fabs(steps - std::round(steps)) > 1e-9 || xs[i] - xs[i - 1] > 0.5 * widest) return true;
  }
  return false;
}

std::vector<double> places_across(const std::vector<double>& xs) {
  const bool logarithmic = logarithmic_axis(xs);
  const auto at = [&](double x) { return logarithmic ? std::log(x) : x; };
  std::vector<double> places;
  for (const double x : xs) places.push_back((at(x) - at(xs.front())) / (at(xs.back()) - at(xs.front())));
  return places;
}

namespace {

/// Returns how far a curve lies above the straight line between its ends: the mean of the points between, over its height.
double bend_of(const std::vector<double>& xs, const std::vector<double>& ys) {
  const auto [low, high] = std::ranges::minmax(ys);
  if (ys.size() < 3 || ys.size() != xs.size() || high <= low) return 0;
  const std::vector<double> across = places_across(xs);
  const std::size_t last = ys.size() - 1;
  double above = 0;
  for (std::size_t i = 1; i < last; ++i) above += ys[i] - (ys[0] + across[i] * (ys[last] - ys[0]));
  return above / (static_cast<double>(last - 1) * (high - low));
}

}  // namespace

std::optional<BendMissed> bend_missed(const std::vector<double>& xs, const std::vector<double>& drawn,
                                      const std::vector<double>& curve) {
  const double real = bend_of(xs, curve), own = bend_of(xs, drawn);
  if (std::fabs(real) < least_bend || own * real >= least_part_of_bend * real * real) return std::nullopt;
  return BendMissed{real < 0};
}

std::optional<DrawnWay> way_off(const std::vector<double>& xs, const std::vector<double>& drawn, const std::vector<double>& curve,
                                double tolerance) {
  bool above = false, below = false;
  for (std::size_t i = 0; i < std::min(drawn.size(), curve.size()); ++i) {
    if (is_near(drawn[i], curve[i], tolerance)) continue;
    (drawn[i] > curve[i] ? above : below) = true;
  }
  if (above && below) return DrawnWay::shape;
  if (above || below) return above ? DrawnWay::above : DrawnWay::below;
  return bend_missed(xs, drawn, curve) ? std::optional(DrawnWay::shape) : std::nullopt;
}

std::optional<CurveDifference> curve_difference(const std::vector<double>& xs, const std::vector<double>& drawn,
                                                const std::vector<double>& curve, double tolerance) {
  const std::size_t count = xs.size();
  if (count < 2 || drawn.size() != count || curve.size() != count) return std::nullopt;
  CurveDifference out;
  if (curve.front() > 0 && curve.back() > 0 && drawn.front() > 0 && drawn.back() > 0) {
    using Slope = CurveDifference::Slope;
    const double real = std::log(curve.back() / curve.front()), own = std::log(drawn.back() / drawn.front());
    out.slope = std::fabs(own - real) < std::log(like_growth) ? Slope::right
                : own * real < 0                              ? Slope::other_way
                : std::fabs(own) > std::fabs(real)            ? Slope::too_steep
                                                              : Slope::too_flat;
  }
  const auto near = [&](std::size_t i) { return is_near(drawn[i], curve[i], tolerance); };
  std::size_t changes = 0, at = 0;  // between near and off, and the first point after the last change
  for (std::size_t i = 1; i < count; ++i)
    if (near(i) != near(i - 1)) ++changes, at = i;
  if (changes != 1) return out;
  (near(0) ? out.parts_after : out.meets_at) = near(0) ? at - 1 : at;
  return out;
}

bool is_right(const LessonQuestion& question, const LessonAnswer& answer, const PageFigures& figures) {
  switch (question.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      return answer.option == right_option(question, figures);
    case QuestionKind::number:
      return is_near(answer.number, figures.answer, question.tolerance);
    case QuestionKind::order:
      return answer.order == right_order(figures);
    case QuestionKind::draw:
      return answer.drawn.size() == figures.curve.size() && !way_off(question.xs, answer.drawn, figures.curve, question.tolerance);
  }
  return false;
}

const LessonWrong* why_wrong(const LessonQuestion& question, const LessonAnswer& answer, const PageFigures& figures) {
  if (!answer.given || is_right(question, answer, figures)) return nullptr;
  for (std::size_t i = 0; i < question.wrong.size(); ++i) {
    const LessonWrong& wrong = question.wrong[i];
    const bool same_option = wrong.option >= 0 && wrong.option == answer.option;
    const bool same_number = !wrong.near.empty() && is_near(answer.number, figures.near[i], question.tolerance);
    const bool same_way = wrong.drawn && wrong.drawn == way_off(question.xs, answer.drawn, figures.curve, question.tolerance);
    if (same_option || same_number || same_way || wrong.takes_all()) return &wrong;
  }
  return nullptr;
}

int option_pointed_at(const LessonView& view, Tensor tensor) {
  if (!view.locked || view.lesson->pages[view.page].ask->kind != QuestionKind::point) return -1;
  const auto& options = view.lesson->pages[view.page].ask->options;
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const Prose& option) { return plain_text(option) == to_string(tensor); });
  return found == options.end() ? -1 : static_cast<int>(found - options.begin());
}

}  // namespace tilescope
