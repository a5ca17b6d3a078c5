// Completes a lesson once all of its blocks are read: what takes the whole page.
#pragma once

#include "app/model/lessons/lesson.h"
#include "sim/core/result.h"

namespace tilescope {

/// Checks each page as a whole, with the names in its expressions, and makes the states of the links that it combines.
/// Errors  each with file and line: a block that lacks its partner; an unknown name; a combined link that from_link() refuses
Status complete_lesson(Lesson& lesson);

}  // namespace tilescope
