// What the layouts of the SM in focus and of Race share: a slot's box before it is placed, and how many cells it is drawn as.
#pragma once

#include "app/views/stage/stage_layout.h"

namespace tilescope {

/// The box of buffer `ring` of a slot; where it is and how many cells it shows is for the layout to say.
SlotBox box_of(const SlotShape& shape, int ring);

/// How many of `count` cells are drawn along `length`, none smaller than `smallest_cell`: all of them, or so many that each stands
/// for equally many values.
int condensed(int count, float length, float smallest_cell);

}  // namespace tilescope
