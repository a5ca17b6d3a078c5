// draw_lesson_menu(): the lessons to open, in their groups.
#pragma once

#include "app/views/view.h"

namespace tilescope {

/// Adds a row for each lesson of the list, which must be there: number, title, minutes, and whether it was gone through; its goal
/// is the tooltip.
void draw_lesson_menu(const View& view, Commands& commands);

}  // namespace tilescope
