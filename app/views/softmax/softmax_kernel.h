// What the real kernel saw of the row, at the foot of the softmax panel: m, l and alpha beside the tile machine's.
#pragma once

#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// How much of the panel they take where the rest could spare `spare` of its bars: a line where that is little, 0 where it is less
/// or nothing was recorded.
float kernel_rows_height(const View& view, float spare);
/// Draws them at the cursor, `height` high.
void draw_kernel_rows(const View& view, Commands& commands, float height);

/// Where there is no room for them: one word at the right of the footer, `line`, with all of it in the tooltip.
void draw_kernel_word(const View& view, Commands& commands, const Rect& line);

/// Whether the window shows the row that was recorded, and works on the numbers that the kernel read.
struct ShownBeside {
  bool row = false, inputs = false;
};
ShownBeside shown_beside(const SessionView& view);
/// The step of the comparison that belongs to what is shown: the key tile of the row's own block, else the last one.
std::size_t compared_step(const SessionView& view);

}  // namespace tilescope
