// draw_task_field(): a control that a task leaves free, beside the task itself, so that a class sees knob and picture at once.
#pragma once

#include <string>

#include "app/views/lesson/lesson_keys.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns true for a control with a field: numbers of GPU, problem and tile, the block order and the program.
bool has_task_field(const View& view, const std::string& key);
/// Returns how many lines of buttons or fields it has.
int task_field_lines(const View& view, const std::string& key);
/// Adds the field over the width of the column, and below it why the last input was refused. `key` is its key in links.
void draw_task_field(const View& view, Commands& commands, LessonKeys& keys, const std::string& key);

}  // namespace tilescope
