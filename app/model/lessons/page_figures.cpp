// Evaluates a page, and finds out what its own text gives away.
#include "app/model/lessons/page_figures.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "app/model/lessons/lesson_expression.h"
#include "app/model/lessons/lesson_values.h"
#include "app/model/lessons/recorded_run.h"
#include "sim/analysis/outcome.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

Status add_question(const Lesson& lesson, const LessonQuestion& ask, const LessonEvaluator& scene, StateRuns& runs,
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
    const Result<double> found = LessonEvaluator(lesson, at_point).value(ask.curve);
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
      said.work = said.work || name == "flops";
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

/// What of a run answers a question that reads `asked`, by the bars that show it.
struct AnsweringFigures {
  SaidFigures by;        // these bars do
  bool unknown = false;  // a figure does that has no bar
};

AnsweringFigures answering_figures(const std::vector<std::string>& asked, std::span<const LessonVariant> others) {
  constexpr std::array<std::string_view, 10> given = {"B",       "H",        "N",      "Nk",           "d", "element_bytes",
                                                      "block_q", "block_kv", "blocks", "blocks_per_sm"};
  const auto is_run = [&](std::string_view name) {
    return name == "measured" || std::ranges::find(others, name, &LessonVariant::name) != others.end();
  };
  AnsweringFigures out;
  for (std::string_view name : asked) {
    for (std::size_t dot = name.find('.'); dot != name.npos && is_run(name.substr(0, dot)); dot = name.find('.'))
      name.remove_prefix(dot + 1);
    const std::string_view figure = name.substr(0, name.find('.'));
    if (figure == "gpu" || std::ranges::find(given, figure) != given.end()) continue;
    if (figure == "hbm" || figure == "hbm_read" || figure == "hbm_write")
      out.by.hbm = true;
    else if (figure == "l2_to_sm" || figure == "sm_to_l2")
      out.by.l2 = true;
    else if (figure == "us" || figure == "cycles")
      out.by.time = true;
    else if (figure == "flops" || figure == "tiles")
      out.by.work = true;
    else if (figure == "extra_hbm")
      out.by.others = true;
    else
      out.unknown = true;
  }
  return out;
}

/// Whatever does not answer the question may be seen.
void add_unasked(const AnsweringFigures& answering, SaidFigures& said) {
  if (answering.unknown) return;
  for (const auto figure : {&SaidFigures::hbm, &SaidFigures::l2, &SaidFigures::time, &SaidFigures::work, &SaidFigures::others})
    said.*figure = said.*figure || !(answering.by.*figure);
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

/// What may be seen of a run before the answer: the figures that the texts above it say, those that do not answer the question,
/// and all of the scene's run where that is compared; `run` is its name, empty for that of the scene.
SaidFigures said_figures(const LessonPage& page, std::string_view run, std::span<const LessonVariant> others) {
  SaidFigures said;
  note_said(page.prose, run, others, said);
  if (!page.ask) return said;
  note_said(page.ask->question, run, others, said);
  for (const Prose& option : page.ask->options) note_said(option, run, others, said);
  const std::vector<std::string> asked = figures_asked(*page.ask);
  if (run.empty() && compares_scene(asked, others)) return SaidFigures::all();
  keep_parts(asked, said);
  add_unasked(answering_figures(asked, others), said);
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

/// The results that expressions compare: "differ.again.dQ" those of the scene and of `again`, "two.differ.again.dQ" those of `two`
/// and of `again`.
Status add_results(const Lesson& lesson, const LessonPage& page, const FigureRuns& runs, std::vector<ComparedResult>& out) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& expression) {
    if (const auto found = names_in(expression)) names.insert(names.end(), found->begin(), found->end());
  };
  for (const std::string& name : figures_asked(*page.ask)) names.push_back(name);
  for (const FigureText* figure : figures_of(page.reveal->say)) add(figure->expression);
  for (const std::string_view name : names) {
    constexpr std::string_view figure = "differ.";
    const std::size_t at = name.starts_with(figure) ? 0 : name.find(".differ.");
    if (at == std::string_view::npos) continue;
    const std::string_view rest = name.substr(name.find(figure) + figure.size());
    const std::size_t dot = rest.find('.');
    const FigureRun &first = runs.run(name.substr(0, at)), &second = runs.run(rest.substr(0, dot));
    const std::string_view tensor = rest.substr(dot + 1);
    const auto same = [&](const ComparedResult& known) {
      return known.first == first.simulation && known.second == second.simulation && to_string(known.tensor) == tensor;
    };
    if (std::ranges::any_of(out, same)) continue;
    const Result<std::vector<Matrix>> a = results_of(first, tensor), b = results_of(second, tensor);
    if (!a) return at_line(lesson, page.ask->line, a.error());
    if (!b) return at_line(lesson, page.ask->line, b.error());
    const auto outputs = first.simulation->program->outputs();
    const auto found = std::ranges::find_if(outputs, [&](Tensor each) { return to_string(each) == tensor; });
    out.push_back({first.simulation, second.simulation, *found, *a, *b, difference_of(*a, *b)});
  }
  return Done{};
}

}  // namespace

Result<PageFigures> page_figures(const Lesson& lesson, std::size_t index, StateRuns& runs, const Measurements& measured,
                                 const Progress& progress) {
  const LessonPage& page = lesson.pages[index];
  const LessonScene& scene = lesson.scene_of(index);
  const Result<FigureRun> run = runs.run(scene.state, progress);
  if (!run) return at_line(lesson, scene.line, run.error());
  FigureRuns names(measured);
  names.set("", *run);
  if (const Status added = add_runs(lesson, scene.line, scene.others, runs, names, progress); !added) return added.error();
  const LessonEvaluator evaluator(lesson, names);
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
  if (const Status added = add_results(lesson, page, names, out.results); !added) return added.error();
  names.set("", then);
  if (const Status added = evaluator.add(page.reveal->say, out.revealed); !added) return added.error();
  for (const LessonWrong& wrong : page.ask->wrong)
    if (const Status added = evaluator.add(wrong.say, out.revealed); !added) return added.error();
  return out;
}

}  // namespace tilescope
