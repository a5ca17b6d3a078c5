// Figures of lessons in words.
#pragma once

#include <string>
#include <string_view>

#include "app/model/lessons/lesson_task.h"
#include "app/model/lessons/page_figures.h"

namespace tilescope {

/// "18.4 MB", "4.9×", "45 %": a value with its unit, as the other views write it.
std::string figure_words(double value, FigureUnit unit);

/// A figure of a text. One that reads no run is known from the start; another without a value yet is "–".
std::string figure_text(const FigureText& figure, const ExpressionValues* values);
/// Whether every figure of a text is known.
bool is_known(const Prose& prose, const ExpressionValues* values);
/// A text in plain words, with its figures.
std::string prose_words(const Prose& prose, const ExpressionValues* values);
/// The right answer of a question: the option, the number, the options in their order, or the points of the curve.
std::string answer_words(const LessonQuestion& ask, const PageFigures& figures);
/// Where the right number of a question comes from: "Computed" from sizes and the GPU's numbers, "Measured", or "Simulated".
const char* answer_source(const LessonQuestion& ask);

/// Returns what a figure of a goal was and is: "L2→SM bytes of K: 2.05 kB at first, 1.02 kB now".
std::string measure_words(const TaskMeasure& measure);

/// Returns why an answer is wrong, as the paragraph that stands below it.
Prose reason_words(const LessonWrong& wrong);

/// How far an answer is off: "Right: your answer is 19.8 % below 5.2×. Up to 30 % counts as right.", "2.9× too low. Up to 10 % …".
/// Shares are off by percentage points.
std::string verdict_words(double own, double real, bool right, FigureUnit unit, double tolerance);

/// The name of a unit beside a field: "bytes", "%".
const char* unit_label(FigureUnit unit);

/// Returns what the key of a link is called in a sentence: "N" for seq.
std::string key_words(std::string_view key);
/// Whether the values of the key are amounts of memory.
bool is_capacity(std::string_view key);

}  // namespace tilescope
