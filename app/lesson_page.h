// A page of a lesson as HTML: with fields to answer, or as a handout.
#pragma once

#include <string>

#include "app/model/session/session_view.h"

namespace tilescope {

/// Which moment of a lesson's page an article shows.
enum class LessonMoment { asked, playing, answered };

/// Returns what the article of the present page of a session's lesson contains. `picture` is <svg> or <img>. Texts are in the
/// language in use. Terms of the glossary carry their meaning.
std::string lesson_article(const SessionView& view, LessonMoment moment, const std::string& picture);

/// Returns the text of the present page without its question, for a handout. Empty without a lesson.
std::string lesson_text(const SessionView& view);

/// Returns the question of the present page, its options, its answer and what is said of it, as HTML.
/// The answer is closed on screen, open on paper. Empty without a question.
std::string lesson_answer(const SessionView& view);

}  // namespace tilescope
