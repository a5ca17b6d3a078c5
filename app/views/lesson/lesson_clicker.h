// The clicker in a presented lesson: Page Down and Page Up show all of a text, then turn the page, then go to the next lesson.
#pragma once

#include <string>

#include "app/model/lessons/lesson_list.h"
#include "app/views/lesson/lesson_place.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the lesson before or after the open one; null where there is none.
const LessonInfo* lesson_beside(const LessonView& view, int direction);

/// Returns whether the open page is the deck's scene: then the next page is the next scene.
bool is_scene(const View& view);

/// Does what Page Down (1) or Page Up (-1) means: more of the text, the answer, another page, another lesson.
void click_lesson(const View& view, int direction, Commands& commands);
/// Returns what the next Page Down does, as a sentence.
std::string next_click_in_lesson(const View& view);
/// Whether the lesson's panel is on screen, which then says the next click. A maximised panel or a question may have its room.
bool shows_lesson_text();

}  // namespace tilescope
