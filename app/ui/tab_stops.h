// Tab stops: the buttons of the window in the order in which they are drawn, for who has no mouse.
//
// Popovers are ImGui's own keyboard navigation; these are for the bars and panels around the stage, whose keys are the arrows.
// The rows of a table and the cells of a map are one group: a single stop of Tab, and the arrows go from one to the next.
#pragma once

#include "app/ui/widgets.h"

namespace tilescope {

/// Makes the last item a stop. Draws a ring around `rect` where it is the one with the focus; true when Enter presses it.
/// `group` is an id that all stops of a group have; 0 for a stop of its own.
bool tab_stop(const Theme& theme, const Rect& rect, float rounding, ImGuiID group = 0);
/// The same for what is drawn without an item, such as one of thousands of cells.
bool tab_stop(const Theme& theme, ImGuiID id, const Rect& rect, float rounding, ImGuiID group);
/// Makes the last item, a field or a slider that was added as `label`, a stop: Enter begins typing.
void field_stop(const Theme& theme, const char* label);
/// Makes the last item, a combo that is closed, a stop: Enter opens it.
void combo_stop(const Theme& theme);
/// Adds ImGui's small button, as a stop.
bool small_button_stop(const Theme& theme, const char* label);
/// Whether the last stop has the focus: what it shows while hovered, it shows then too.
bool tab_stop_is_focused();
/// Shows beside `stop` what its tooltip says. Unlike a tooltip of the mouse it stays after a key.
void stop_tooltip(const Theme& theme, const Rect& stop, std::string_view title, std::string_view body = {});
/// Gives the focus to the next stop (1) or the one before (-1); beyond the ends to none.
void move_tab_stop(int direction);
/// Gives the focus to the nearest stop of the group in that direction, where there is one.
void move_in_group(ImGuiDir direction);
/// True while a stop of a group has the focus: the arrows are its own.
bool tab_group_has_focus();
/// Returns the rectangle of the stop with the focus; an empty one where none has it.
Rect focused_tab_stop();
/// Gives the focus to the stop with this id, once it is drawn.
void focus_tab_stop(ImGuiID id);
/// True while a stop has the focus, and in the frame in which the last one lost it by Tab.
bool tab_stop_has_focus();
/// Returns 1 or -1 once after Tab went beyond the last or the first stop, otherwise 0.
int take_tab_beyond();
/// Takes the focus away; false where none had it.
bool leave_tab_stops();

}  // namespace tilescope
