// The script of a lesson's page that judges answers, by the rules of typed_quantity(), is_complete(), is_right() and why_wrong().
#pragma once

#include <string>
#include <string_view>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/page_figures.h"

namespace tilescope {

/// Returns functions in JavaScript. `judge(own)` puts an answer beside the simulated one, and whether it is right, or why not.
std::string_view answer_script();
/// Returns what the script judges an answer to this question by, as JSON.
std::string judged_by(const LessonQuestion& ask, const PageFigures& figures);

}  // namespace tilescope
