// What a lesson must hold to be shown to a class.
#include "app/model/lessons/lesson_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "app/model/lessons/drawn_curve.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_task.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/requests/assets.h"
#include "sim/core/text.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

namespace {

constexpr std::array languages = {std::string_view("en"), std::string_view("ko")};
/// The best two options differ by more than this, else the question has no answer.
constexpr double least_shown_difference = 0.01;
/// Names with digits that are no numbers, besides those of GPUs and programs.
constexpr auto names_with_digits = std::to_array<std::string_view>({"L1",
                                                                    "L2",
                                                                    "L3",
                                                                    "HBM2",
                                                                    "HBM3",
                                                                    "fp16",
                                                                    "bf16",
                                                                    "fp32",
                                                                    "fp64",
                                                                    "float32",
                                                                    "float64",
                                                                    "FlashAttention-1",
                                                                    "FlashAttention-2",
                                                                    "FlashAttention-3",
                                                                    "FlashAttention1",
                                                                    "FlashAttention2",
                                                                    "H100",
                                                                    "H200",
                                                                    "A100",
                                                                    "4090",
                                                                    "RTX4090",
                                                                    "log2"});

class Findings {
 public:
  explicit Findings(const Lesson& lesson) : lesson_(lesson) {}
  void add(int line, std::string_view what) { out.push_back(fmt::format("{}:{}: {}", printable(lesson_.origin, 200), line, what)); }
  void add(const Error& error) { out.push_back(error.sentence); }
  std::vector<std::string> out;

 private:
  const Lesson& lesson_;
};

// --- digits -----------------------------------------------------------------------------------------------------------------

bool is_word_byte(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || c == '-' || c == '_';
}

bool is_name(std::string_view word) {
  const auto known = [&](std::string_view name) {
    return name.size() == word.size() && std::equal(name.begin(), name.end(), word.begin(), [](char a, char b) {
             return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
           });
  };
  if (std::any_of(names_with_digits.begin(), names_with_digits.end(), known)) return true;
  const auto programs = program_table();
  if (std::any_of(programs.begin(), programs.end(), [&](const ProgramInfo& info) { return known(info.id); })) return true;
  static const std::vector<std::string> gpus = gpu_ids();
  return std::any_of(gpus.begin(), gpus.end(), known);
}

/// The first word with a digit that is no name; empty where there is none.
std::string_view number_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word_byte(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word_byte(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (word.find_first_of("0123456789") != std::string_view::npos && !is_name(word)) return word;
    at = end;
  }
  return {};
}

void check_digits_of(const Prose& prose, Findings& findings) {
  for (const ProseBlock& block : prose)
    for (const ProseRun& run : block.runs)
      if (const std::string_view word = number_in(run.text); !run.figure && !word.empty())
        findings.add(block.line, fmt::format("'{}' is a number that nothing computes: write {{= expression : unit}}, or a word",
                                             printable(word)));
}

// --- structure --------------------------------------------------------------------------------------------------------------

/// What the translation of a page must keep, one line a thing.
std::vector<std::string> shape_of(const LessonPage& page) {
  std::vector<std::string> out;
  const auto figures = [&](std::string_view where, const Prose& prose) {
    std::vector<std::string> all;
    for (const FigureText* figure : figures_of(prose))
      all.push_back(fmt::format("{} : {}", figure->expression, to_string(figure->unit)));
    std::sort(all.begin(), all.end());  // another language has another order of words
    for (const std::string& each : all) out.push_back(fmt::format("figure of {}: {}", where, each));
  };
  figures("the text", page.prose);
  if (page.scene) {
    out.push_back("scene: " + page.scene->link);
    for (const std::string& panel : page.scene->look) out.push_back("look: " + panel);
    for (const LessonVariant& other : page.scene->others) out.push_back(fmt::format("other: {} = {}", other.name, other.keys));
  }
  if (page.ask) {
    const LessonQuestion& ask = *page.ask;
    out.push_back(fmt::format("question: {}, {} options, unit {}, tolerance {}, pick {}", to_string(ask.kind), ask.options.size(),
                              to_string(ask.unit), ask.tolerance, ask.smallest ? "smallest" : "largest"));
    figures("the question", ask.question);
    if (ask.kind == QuestionKind::point)
      for (const Prose& option : ask.options) out.push_back("option: " + plain_text(option));
    for (const Prose& option : ask.options) figures("an option", option);
    for (const LessonExpression& value : ask.values) out.push_back("value: " + value.text);
    out.push_back("answer: " + ask.answer.text);
    out.push_back("curve: " + ask.curve.text);
    for (const double x : ask.xs) out.push_back(fmt::format("{} = {}", ask.x_key, x));
    for (const LessonWrong& wrong : ask.wrong) {
      out.push_back(wrong.option >= 0    ? fmt::format("reason: choice = {}", wrong.option + 1)
                    : wrong.drawn        ? fmt::format("reason: drawn = {}", to_string(*wrong.drawn))
                    : wrong.near.empty() ? std::string("reason: every other answer")
                                         : fmt::format("reason: near = {}", wrong.near.text));
      figures("a reason", wrong.say);
    }
  }
  if (page.reveal) {
    figures("the reveal", page.reveal->say);
    out.push_back(fmt::format("play: {} {}", static_cast<int>(page.reveal->play), page.reveal->step));
    out.push_back("revealed link: " + page.reveal->keys);
    for (const std::string& panel : page.reveal->look) out.push_back("revealed look: " + panel);
  }
  if (page.task) {
    for (const std::string& key : page.task->free) out.push_back("free: " + key);
    figures("the task", page.task->say);
    figures("the end of the task", page.task->done);
    out.push_back("goal: " + page.task->goal.text);
    out.push_back("solution: " + (page.task->solution ? page.task->solution->keys : std::string()));
  }
  out.push_back(fmt::format("notes: {}", page.notes.size()));
  return out;
}

// --- pages ------------------------------------------------------------------------------------------------------------------

void check_options(const LessonQuestion& ask, const PageFigures& figures, Findings& findings) {
  const auto options = static_cast<double>(ask.options.size());
  if (ask.kind == QuestionKind::choice && ask.values.empty()) {
    if (figures.answer < 1 || figures.answer > options || figures.answer != std::floor(figures.answer))
      findings.add(ask.answer.line,
                   fmt::format("the answer is {:g}: it must be the place of an option, 1 to {}", figures.answer, options));
    return;
  }
  if (figures.values.size() < 2) return;
  std::vector<double> sorted = figures.values;
  std::sort(sorted.begin(), sorted.end());
  if (!ask.smallest) std::reverse(sorted.begin(), sorted.end());
  const std::size_t pairs = ask.kind == QuestionKind::order ? sorted.size() - 1 : 1;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double gap = std::fabs(sorted[i] - sorted[i + 1]);
    if (gap > least_shown_difference * std::max(std::fabs(sorted[i]), std::fabs(sorted[i + 1]))) continue;
    findings.add(ask.line, fmt::format("two options are as good: their values are {:g} and {:g}", sorted[i], sorted[i + 1]));
    return;
  }
  if (ask.kind == QuestionKind::order && figures.values == sorted)
    findings.add(ask.line, "the options stand in the right order already: move one, and its value");
}

/// A drawing that is off one way, by twice the tolerance; empty where there is none.
std::vector<double> drawing_off(DrawnWay way, const std::vector<double>& curve) {
  std::vector<double> drawn = curve;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const bool up = way == DrawnWay::above || (way == DrawnWay::shape && i % 2 == 0);
    drawn[i] = up ? (drawn[i] > 0 ? 3 * drawn[i] : 1) : 0;
  }
  return drawn;
}

/// A curve asks for its shape: no flat line may answer it.
void check_curve(const LessonQuestion& ask, const PageFigures& figures, Findings& findings) {
  const auto [least, most] = std::ranges::minmax(figures.curve);
  LessonAnswer flat;  // as near to the least and to the largest point as a flat line can be
  flat.drawn.assign(figures.curve.size(), 0.5 * ((1 + ask.tolerance) * least + (1 - ask.tolerance) * most));
  if (is_right(ask, flat, figures))
    findings.add(ask.line, fmt::format("a flat line at {:g} is a right drawing: give a smaller tolerance", flat.drawn.front()));
}

/// A reason that no answer gets is a mistake.
void check_wrong(const LessonQuestion& ask, const PageFigures& figures, Findings& findings) {
  std::size_t ways = 0;
  for (std::size_t i = 0; i < ask.wrong.size(); ++i) {
    const LessonWrong& wrong = ask.wrong[i];
    if (wrong.drawn) {
      ++ways;
      LessonAnswer answer;
      answer.drawn = drawing_off(*wrong.drawn, figures.curve);
      if (why_wrong(ask, answer, figures) != &wrong)
        findings.add(wrong.line,
                     fmt::format("no drawing is off as drawn = \"{}\" says: take the reason out", to_string(*wrong.drawn)));
    }
    if (ask.kind == QuestionKind::draw && wrong.takes_all() && ways == 3)
      findings.add(wrong.line, "the three reasons before take every wrong drawing: no answer gets this one");
    if (wrong.option >= 0 && wrong.option == right_option(ask, figures))
      findings.add(wrong.line, fmt::format("option {} is the right one: it needs no reason", wrong.option + 1));
    if (wrong.near.empty()) continue;
    if (is_near(figures.near[i], figures.answer, ask.tolerance))
      findings.add(wrong.line,
                   fmt::format("near is {:g}, within the tolerance of the right answer, {:g}: no answer gets this reason",
                               figures.near[i], figures.answer));
    for (std::size_t before = 0; before < i; ++before)
      if (is_near(figures.near[i], figures.near[before], ask.tolerance))
        findings.add(wrong.line, fmt::format("near is {:g}, and the reason at line {} comes first with {:g}", figures.near[i],
                                             ask.wrong[before].line, figures.near[before]));
  }
}

void check_task(const Lesson& lesson, std::size_t page, StateRuns& runs, const Measurements& measured, Findings& findings) {
  const LessonTry& task = *lesson.pages[page].task;
  const auto at = [&](const WindowState& state) -> Result<TaskFigures> {
    const Result<FigureRun> live = runs.run(state, {});
    if (!live) return live.error();
    return task_figures(lesson, page, *live, runs, measured, {});
  };
  const Result<TaskFigures> opened = at(lesson.scene_of(page).state);
  if (!opened) return findings.add(opened.error());
  if (opened->reached) findings.add(task.line, "the goal is reached where the scene opens: there is nothing to do");
  if (!task.solution) return;
  const Result<TaskFigures> solved = at(task.solution->state);
  if (!solved) return findings.add(task.line, fmt::format("the solution: {}", std::string(solved.error().sentence)));
  if (!solved->reached) findings.add(task.line, "the solution does not reach the goal");
}

}  // namespace

std::vector<std::string> check_same_structure(const Lesson& a, const Lesson& b) {
  Findings findings(b);
  if (a.pages.size() != b.pages.size()) {
    findings.add(b.pages.back().line,
                 fmt::format("{} pages, but {} has {}", b.pages.size(), printable(a.origin, 200), a.pages.size()));
    return findings.out;
  }
  if (a.minutes != b.minutes)
    findings.add(1, fmt::format("{} minutes, but {} in {}", b.minutes, a.minutes, printable(a.origin, 200)));
  if (a.group.empty() != b.group.empty())
    findings.add(1, fmt::format("group is given here or in {}: give both", printable(a.origin, 200)));
  for (std::size_t i = 0; i < a.pages.size(); ++i) {
    const std::vector<std::string> one = shape_of(a.pages[i]), other = shape_of(b.pages[i]);
    const auto [at_a, at_b] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    if (at_a == one.end() && at_b == other.end()) continue;
    findings.add(b.pages[i].line, fmt::format("page {} differs from {}: here '{}', there '{}'", i + 1, printable(a.origin, 200),
                                              at_b == other.end() ? "nothing" : printable(*at_b, 200),
                                              at_a == one.end() ? "nothing" : printable(*at_a, 200)));
  }
  return findings.out;
}

std::vector<std::string> check_digits(const Lesson& lesson) {
  Findings findings(lesson);
  check_digits_of(lesson.goal, findings);
  for (const LessonPage& page : lesson.pages) {
    check_digits_of({{ProseBlock::Kind::heading, 0, 0, page.line, {{page.title, false, false, std::nullopt}}}}, findings);
    check_digits_of(page.prose, findings);
    if (page.ask) {
      check_digits_of(page.ask->question, findings);
      for (const Prose& option : page.ask->options) check_digits_of(option, findings);
      for (const LessonWrong& wrong : page.ask->wrong) check_digits_of(wrong.say, findings);
    }
    if (page.reveal) check_digits_of(page.reveal->say, findings);
    if (page.task) {
      check_digits_of(page.task->say, findings);
      check_digits_of(page.task->done, findings);
    }
  }
  return findings.out;
}

std::vector<std::string> check_pages(const Lesson& lesson, StateRuns& runs, const Measurements& measured) {
  Findings findings(lesson);
  for (std::size_t i = 0; i < lesson.pages.size(); ++i) {
    const LessonPage& page = lesson.pages[i];
    const Result<PageFigures> figures = page_figures(lesson, i, runs, measured, {});
    if (!figures)
      findings.add(figures.error());
    else if (page.ask) {
      check_options(*page.ask, *figures, findings);
      check_wrong(*page.ask, *figures, findings);
      if (page.ask->kind == QuestionKind::draw) check_curve(*page.ask, *figures, findings);
    }
    if (page.task) check_task(lesson, i, runs, measured, findings);
    if (page.reveal && page.reveal->scene)
      if (const Result<FigureRun> then = runs.run(page.reveal->scene->state, {}); !then)
        findings.add(page.ask->line, fmt::format("the link of the reveal: {}", std::string(then.error().sentence)));
  }
  return findings.out;
}

std::vector<std::string> check_lesson(const LessonList& list, const LessonInfo& info, GpuLoader load_gpu,
                                      const Measurements& measured) {
  std::vector<std::string> out;
  const auto add = [&](std::vector<std::string> found) { out.insert(out.end(), found.begin(), found.end()); };
  StateRuns runs(load_gpu);  // both languages have the same scenes
  std::shared_ptr<const Lesson> first;
  for (const std::string_view language : languages) {
    if (!info.languages.contains(language)) {
      out.push_back(fmt::format("{} has no text in '{}': add {}.{}.md", info.id, language, info.id, language));
      continue;
    }
    const Result<std::shared_ptr<const Lesson>> lesson = load_lesson(list, info.id, language);
    if (!lesson) {
      out.push_back(lesson.error().sentence);
      continue;
    }
    add(check_digits(**lesson));
    add(check_pages(**lesson, runs, measured));
    if (first != nullptr) add(check_same_structure(*first, **lesson));
    first = *lesson;
  }
  return out;
}

}  // namespace tilescope
