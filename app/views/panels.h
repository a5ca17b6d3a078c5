// Every panel's draw function. A panel draws inside the ImGui child that the layout opened. A panel that draws with another theme,
// such as larger text, calls what it is given `shown`.
#pragma once

#include "app/views/view.h"

namespace tilescope {

void draw_listing_panel(const View& view, Commands& commands);
void draw_stage_panel(const View& view, Commands& commands);
void draw_softmax_panel(const View& shown, Commands& commands);
void draw_traffic_panel(const View& shown, Commands& commands);
void draw_timeline_panel(const View& view, Commands& commands);
/// Whether the result of a race is kept back: from a class until both runs are over or its question is answered.
bool holds_race_result(const View& view);
/// Replaces the stage while Race is on.
void draw_race_panel(const View& shown, Commands& commands);
void draw_roofline_panel(const View& view, Commands& commands);
void draw_what_if_panel(const View& view, Commands& commands);
void draw_fit_panel(const View& view, Commands& commands);
void draw_sweep_panel(const View& shown, Commands& commands);
void draw_compare_panel(const View& shown, Commands& commands);
/// The recorded bundle against the model.
void draw_validate_panel(const View& view, Commands& commands);
void draw_mask_panel(const View& view, Commands& commands);
void draw_banks_panel(const View& view, Commands& commands);
void draw_ladder_panel(const View& shown, Commands& commands);
/// Notes, the next scene and the time, for the presenter's own window.
void draw_presenter_panel(const View& view, Commands& commands);
/// Beside the stage while a lesson is open.
void draw_lesson_panel(const View& shown, Commands& commands);
/// In the middle, while a page asks for a curve.
void draw_curve_panel(const View& shown, Commands& commands);

}  // namespace tilescope
