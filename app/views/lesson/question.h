// draw_question(): the question of a page as a person answers it, and after it the own answer beside the simulated one.
#pragma once

#include <string>
#include <vector>

#include "app/model/lessons/page_figures.h"
#include "app/views/lesson/lesson_keys.h"
#include "app/views/view.h"

namespace tilescope {

/// What is typed, chosen or drawn before it is handed over.
struct QuestionDraft {
  int option = -1;
  std::string typed;
  std::string digits;  // typed while the field of a number had not the keyboard
  std::vector<int> order;
  int held = -1;  // the row whose option is moved
  std::vector<double> drawn;
  int handle = 0;        // the point that the keys move
  bool touched = false;  // some point was moved
  bool early = false;    // Enter came before
};

/// Draws a check, or where not `right` a cross.
void check_mark(ImDrawList* list, ImVec2 center, float size, ImU32 color, bool right);

/// Returns the question of the shown page, which must have one.
const LessonQuestion& question_of(const View& view);
/// Adds the question, its options and "Answer"; pushes AnswerLesson.
void draw_question(const View& view, Commands& commands, QuestionDraft& draft, LessonKeys& keys);
/// Returns the height that it adds in a column of this width.
float question_height(const View& view, float width);
/// Adds the question with the own answer and the simulated one.
void draw_answered(const View& view);
/// The options of a verdict: all, or those that tell what came of the answer.
enum class VerdictRows { all, telling };
/// Draws, in few lines, the question and what came of the answer: for a text that has scrolled away from both. Adds no item.
void draw_verdict(const View& view, ImVec2 at, float width, VerdictRows rows);
/// Returns its height.
float verdict_height(const View& view, float width, VerdictRows rows);

/// True while the field of an answer has the keyboard and is empty. No number begins with a letter, so letters are the window's
/// then.
bool answer_leaves_letters();

/// Returns the draft of the page that is open.
QuestionDraft& question_draft();

/// Whether the page's curve stands in the middle of the window, where it has room, and not in the column of the text.
bool draws_curve_in_middle(const View& view);
/// Adds the curve that is drawn, or what moves it where it stands in the middle; after the answer the simulated one beside it.
void draw_curve_question(const View& view, QuestionDraft& draft, LessonKeys& keys);
void draw_curve_answer(const View& view);
/// Says whether the drawing is right, and why not.
std::string curve_verdict_words(const View& view);
/// Returns the height of the curve in a column of this width; 0 where it stands in the middle.
float curve_height(const View& view, float width);

}  // namespace tilescope
