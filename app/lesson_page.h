// lesson_article(): a page of a lesson as HTML: its text, its question with fields to answer, and a picture of the window.
#pragma once

#include <string>

#include "app/model/session/session_view.h"

namespace tilescope {

/// Which moment of a lesson's page an article shows.
enum class LessonMoment { asked, playing, answered };

/// Returns what the article of the present page of a session's lesson contains. `picture` is <svg> or <img>. Texts are in the
/// language in use. Terms of the glossary carry their meaning.
std::string lesson_article(const SessionView& view, LessonMoment moment, const std::string& picture);

/// Returns the answer of the present page's question and what is said of it, as HTML: closed on screen, open on paper. Empty
/// without a question.
std::string lesson_answer(const SessionView& view);

}  // namespace tilescope
