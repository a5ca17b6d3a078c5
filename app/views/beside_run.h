// The pinned run beside the one on screen, in the views about a whole run. Compare chooses it.
#pragma once

#include <string>

#include "app/views/view.h"

namespace tilescope {

/// Returns the pinned run that a view shows beside the one on screen; nullptr where there is none, and while a question of a lesson
/// is held.
const BesideRun* beside_run(const View& view);
/// Returns "Pinned 1".
std::string beside_label(const BesideRun& beside);
/// Returns what the run on screen is against it: "Against pinned 1 (FlashAttention-1, …): 1.4× faster: 2.25 µs instead of …".
std::string beside_text(const View& view, const BesideRun& beside);
float beside_line_height(const Theme& theme);
/// Draws that as a line below the head of a view; nothing without a pinned run.
void draw_beside_line(const View& view);

}  // namespace tilescope
