// Tab stops: the buttons of the window in the order in which they are drawn, for who has no mouse.
//
// Popovers are ImGui's own keyboard navigation; these are for the bars and panels around the stage, whose keys are the arrows.
#pragma once

#include "app/ui/widgets.h"

namespace tilescope {

/// Makes the last item a stop. Draws a ring around `rect` where it is the one with the focus; true when Enter presses it.
bool tab_stop(const Theme& theme, const Rect& rect, float rounding);
/// Gives the focus to the next stop (1) or the one before (-1); beyond the ends to none.
void move_tab_stop(int direction);
/// True while a stop has the focus, and in the frame in which the last one lost it by Tab.
bool tab_stop_has_focus();
/// Returns 1 or -1 once after Tab went beyond the last or the first stop, otherwise 0.
int take_tab_beyond();
/// Takes the focus away; false where none had it.
bool leave_tab_stops();

}  // namespace tilescope
