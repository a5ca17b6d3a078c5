// What a class is asked: a scene's question, or that of a lesson's page as choices that hands can be raised for.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "app/model/lessons/drawn_curve.h"
#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/page_figures.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/lesson/figure_words.h"

namespace tilescope {

namespace {

constexpr std::size_t least_numbers = 3, most_numbers = 5;

/// The answer of a number question among those that its reasons expect, in order. Where they are few, halves and doubles join them.
std::vector<double> numbers_to_choose(const LessonQuestion& ask, const PageFigures& figures) {
  const double right = figures.answer;
  std::vector<double> numbers = {right};
  const auto add = [&](double number) {
    const bool known =
        std::ranges::any_of(numbers, [&](double each) { return figure_words(each, ask.unit) == figure_words(number, ask.unit); });
    if (!known && !is_near(number, right, ask.tolerance)) numbers.push_back(number);
  };
  for (std::size_t i = 0; i < ask.wrong.size() && numbers.size() < most_numbers; ++i)
    if (!ask.wrong[i].near.empty()) add(figures.near[i]);
  const bool whole = right == std::round(right), is_share = ask.unit == FigureUnit::percent && right <= 1;
  for (const double factor : {0.5, 2.0, 0.25, 4.0}) {
    const double other = whole ? std::round(factor * right) : factor * right;
    if (numbers.size() < least_numbers && !(is_share && other > 1)) add(other);
  }
  std::ranges::sort(numbers);
  return numbers;
}

void ask_number(const LessonQuestion& ask, const PageFigures& figures, ClassQuestion& question) {
  const std::vector<double> numbers = numbers_to_choose(ask, figures);
  question.choices.clear();
  for (const double number : numbers) question.choices.push_back(figure_words(number, ask.unit));
  question.answer = 1 + static_cast<int>(std::ranges::find(numbers, figures.answer) - numbers.begin());
  question.choices.emplace_back(tr("Another number"));
}

/// Which way a curve goes from its first point to its last, beside the growth of x: an exponent of 1 is "in proportion".
void ask_curve(const LessonQuestion& ask, const PageFigures& figures, ClassQuestion& question) {
  const double growth = ask.xs.back() / ask.xs.front(), change = figures.curve.back() / figures.curve.front();
  const std::string times = figure_words(std::round(10 * growth) / 10, FigureUnit::number), x = key_words(ask.x_key);
  question.text = say(tr("{} Compare the last point with the first."), question.text);
  question.choices = {say(tr("More than {}×"), times),         say(tr("About {}×, like {}"), times, x),
                      tr("Higher, but less than that"),        tr("About the same"),
                      say(tr("Lower, but above 1/{}"), times), say(tr("1/{} or lower"), times)};
  const double exponent = std::log(std::max(change, 1e-9)) / std::log(growth);
  constexpr std::array least = {1.2, 0.8, 0.15, -0.15, -1.0};
  question.answer = 1 + static_cast<int>(std::ranges::find_if(least, [&](double each) { return exponent > each; }) - least.begin());
}

}  // namespace

namespace {

/// The question that somebody wrote for what is shown: that of the scene, or one of the moment.
const ClassQuestion* written_question(const View& view) {
  const Scene* const scene = view.lesson.lesson == nullptr ? view.lecture->shown() : nullptr;
  return scene != nullptr && scene->question ? &*scene->question : view.lecture->written();
}

}  // namespace

bool page_asks(const View& view) {
  return view.lesson.lesson != nullptr && view.lesson.lesson->pages[view.lesson.page].ask.has_value();
}

bool can_write_question(const View& view) {
  return !page_asks(view) && written_question(view) == view.lecture->written();
}

bool shows_class_answer(const View& view) {
  return page_asks(view) ? view.lesson.answer != nullptr : view.lecture->answered;
}

bool holds_scene_answer(const View& view) {
  const Scene* const scene = view.lesson.lesson == nullptr ? view.lecture->shown() : nullptr;
  return view.workspace->present && scene != nullptr && scene->question && scene->question->answer > 0 && !view.lecture->answered;
}

ClassQuestion class_question(const View& view) {
  const LessonView& lesson = view.lesson;
  ClassQuestion question = plain_question();
  if (!page_asks(view)) {
    if (const ClassQuestion* const written = written_question(view)) {
      question.text = written->text;
      question.answer = written->answer;
      if (!written->choices.empty()) question.choices = written->choices;
    }
    return question;
  }
  const auto& ask = lesson.lesson->pages[lesson.page].ask;
  const PageFigures* figures = lesson.figures;
  const auto words = [&](const Prose& prose) { return prose_words(prose, figures != nullptr ? &figures->shown : nullptr); };
  question.text = words(ask->question);
  if (ask->kind == QuestionKind::order) question.text = say(tr("{} Which is first?"), question.text);
  if (!ask->options.empty()) {
    question.choices.clear();
    for (const Prose& option : ask->options) question.choices.push_back(words(option));
  }
  if (figures == nullptr) return question;
  switch (ask->kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      question.answer = 1 + right_option(*ask, *figures);
      break;
    case QuestionKind::order:
      question.answer = 1 + right_order(*figures).front();
      break;
    case QuestionKind::number:
      ask_number(*ask, *figures, question);
      break;
    case QuestionKind::draw:
      ask_curve(*ask, *figures, question);
      break;
  }
  return question;
}

}  // namespace tilescope
