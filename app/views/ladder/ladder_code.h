// The code of the chosen rung: its files, the lines that are new against the rung before marked, and the others folded away.
#pragma once

#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Draws the code of Workspace::rung in `area`, with a title, what is new, and buttons above it. ⇧ ↑ ↓ scroll it.
void draw_ladder_code(const View& view, Commands& commands, const Rect& area);

}  // namespace tilescope
