// ChipTile boxes and cell counts, shared by the layouts of the stage and of Race.
#pragma once

#include "app/views/stage/stage_layout.h"

namespace tilescope {

/// Returns the box of buffer `ring` of an on-chip tile, not yet placed.
ChipTileBox box_of(const ChipTileShape& shape, int ring);

/// Returns how many cells are drawn for `count` values along `length`, none smaller than `smallest_cell`. Each stands for equally
/// many values.
int condensed(int count, float length, float smallest_cell);

}  // namespace tilescope
