// The clicker in a presented lesson: Page Down and Page Up show all of a text and its pictures, turn the page, and go to the next
// lesson.
#pragma once

#include <string>

#include "app/model/lessons/lesson_list.h"
#include "app/views/lesson/lesson_place.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the lesson before or after the open one; null where there is none.
const LessonInfo* lesson_beside(const LessonView& view, int direction);

/// Turns to the page after (1) or before (-1) the open one, or to the scene where the open page is one of a deck.
void turn_page(const View& view, int direction, Commands& commands);

/// Does what Page Down (1) or Page Up (-1) means: more of the text, more of a picture, the answer, another page, another lesson.
void click_lesson(const View& view, int direction, Commands& commands);
/// Returns what the next Page Down does, as a sentence.
std::string next_click_in_lesson(const View& view);
/// Whether the lesson's panel is on screen, which then says the next click. A maximised panel or a question may have its room.
bool shows_lesson_text();

}  // namespace tilescope
