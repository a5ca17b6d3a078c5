// LessonAnswer: what a person answered to a page's question, whether it is right, and why not.
#pragma once

#include <vector>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/page_figures.h"

namespace tilescope {

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
/// Whether the answer is right; a drawn curve is within the tolerance of the real one everywhere, and bends as it does.
bool is_right(const LessonQuestion& question, const LessonAnswer& answer, const PageFigures& figures);
/// Returns the first reason that fits a wrong answer; null for a right one, one that was not given, and without a reason.
const LessonWrong* why_wrong(const LessonQuestion& question, const LessonAnswer& answer, const PageFigures& figures);

}  // namespace tilescope
