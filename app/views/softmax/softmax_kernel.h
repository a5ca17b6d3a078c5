// The recorded row at the bottom of the softmax panel, of the kernel and of the tile machine: m, l and alpha, or S, P, dP and dS of
// a backward pass.
#pragma once

#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the height of the recorded row, given `spare` height of the bars: one line if that is little, 0 if there is no room or
/// no recording.
float kernel_rows_height(const View& view, float spare);
/// Draws the recorded row at the cursor, `height` high.
void draw_kernel_rows(const View& view, Commands& commands, float height);

/// Returns what the kernel's numbers differ by, in one word; empty without a recording.
std::string kernel_word(const View& view);
/// Draws that word, unless it is empty, at the right of `line`, with everything in its tooltip, if there is no room for the row.
void draw_kernel_word(const View& view, Commands& commands, const Rect& line, const std::string& word);

/// Returns true if the window shows the recorded row with the kernel's inputs.
struct ShownBeside {
  bool row = false, inputs = false;
};
ShownBeside shown_beside(const SessionView& view);
/// Returns the compared step: the current key tile of the row's block, or the last.
std::size_t compared_step(const SessionView& view);
/// Returns the compared key of a backward pass: the chosen one of the current key tile, or that with the largest difference while
/// another row is shown.
std::size_t compared_key(const SessionView& view);

}  // namespace tilescope
