// Compares answers with the values of a page.
#include "app/model/lessons/lesson_answer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/model/lessons/drawn_curve.h"

namespace tilescope {

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

}  // namespace tilescope
