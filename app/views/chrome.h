// What surrounds the panels: the top bar, the transport bar, the sheet of keys, and the popovers of the controls.
#pragma once

#include <span>
#include <string>

#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Title, algorithm, GPU, problem, inputs, theme, language, present, help. Falls back to shorter forms where the window is narrow.
void draw_top_bar(const Rect& rect, const View& view, Commands& commands, std::span<const std::string> languages);
/// As the pill of the algorithm says it, where it has one: "Flash-2".
std::string short_algorithm_title(const ProgramInfo& info);
/// The tabs of the middle views, at the top of `rect`; center_tabs_height() is what they take, 0 while there is only one view.
void draw_center_tabs(const Rect& rect, const View& view, Commands& commands);
float center_tabs_height(const Theme& theme);
/// The tabs of the panels that share the column beside the middle.
void draw_side_tabs(const Rect& rect, const View& view, Commands& commands);
/// First, back, play, forward, last; grain; speed; where one is; bytes so far.
void draw_transport(const Rect& rect, const View& view, Commands& commands);
/// The sheet of keys, over everything.
void draw_help(const View& view, Commands& commands);

// The contents of the popovers; each is called between ImGui::BeginPopup and EndPopup.
void draw_problem_controls(const View& view, Commands& commands);
void draw_tile_controls(const View& view, Commands& commands);
void draw_gpu_controls(const View& view, Commands& commands);
void draw_input_controls(const View& view, Commands& commands);

/// A whole number that can be dragged, halved, doubled or typed. Returns true while it changes.
bool number_field(const Theme& theme, const char* label, const char* id, const char* tooltip, std::int64_t& value, std::int64_t low,
                  std::int64_t high);
/// The message of `control` in red, when there is one.
void control_message(const View& view, std::string_view control);
/// True when the message belongs to one of the controls.
bool message_is_for(const View& view, std::span<const std::string_view> controls);

}  // namespace tilescope
