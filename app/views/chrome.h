// Chrome: top bar, transport bar, key list and the popovers of the controls.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/model/state/deck.h"
#include "app/ui/typed_limits.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Draws title, algorithm, GPU, problem, inputs, theme, language, present and help, in shorter forms if the window is narrow.
void draw_top_bar(const Rect& rect, const View& view, Commands& commands, std::span<const std::string> languages);
/// Returns the algorithm's short title, as on its pill: "Flash-2".
std::string short_algorithm_title(const ProgramInfo& info);
/// Draws the tabs of the middle views at the top of `rect`, and the bottleneck right of them. The tabs take at most `room`, that of
/// the stage, so that they stay where they are in every view. center_tabs_height() is 0 with a single view.
void draw_center_tabs(const Rect& rect, float room, const View& view, Commands& commands);
float center_tabs_height(const Theme& theme);
/// Begins a race, on the stage: no other view shows both runs. Or ends it.
void push_race(const View& view, Commands& commands);
/// Draws the tabs of the side panels that share one column.
void draw_side_tabs(const Rect& rect, const View& view, Commands& commands);
/// Draws first, back, play, forward, last; step size; speed; position; bytes so far. A picture of the window has no use for the
/// controls.
void draw_transport(const Rect& rect, const View& view, Commands& commands, bool controls = true);
/// Draws the key list over everything.
void draw_help(const View& view, Commands& commands);

/// Draws the search over operations of the run and words of the glossary.
void draw_find(const View& view, Commands& commands);
/// Adds the timeline's entries to the menu of a right click.
void draw_timeline_menu(const View& view, Commands& commands);
void close_find();

/// Draws algorithm, GPU and problem in one line, in place of the top bar while presenting.
void draw_presenting_bar(const Rect& rect, const View& view);
/// Draws the message of the window as a whole, and while presenting that of any control, with its lower right corner at `at`.
void draw_notice(const View& view, ImVec2 at);
/// Draws the list of scenes over the right side.
void draw_scenes(const View& view, Commands& commands);
/// Returns what the class is asked: the question of the lesson's page, else that of the scene, else what was written, else a show
/// of hands.
ClassQuestion class_question(const View& view);
/// Whether its right choice is marked.
bool shows_class_answer(const View& view);
/// Whether a class is asked by the scene of a deck, whose right choice is not marked yet: a view that would tell it keeps its
/// figures back.
bool holds_scene_answer(const View& view);
/// Whether it is that of a lesson's page: then its answer is the page's.
bool page_asks(const View& view);
/// Whether neither the page nor the scene has a question: then one can be written.
bool can_write_question(const View& view);
/// True while one is being written: letters are for its fields.
bool writes_question();
/// Returns the height at the bottom of the window that draw_question() takes; 0 while nothing is asked, and while presenting.
float question_room(const View& view);
/// Draws the scene's question to the class with what was counted: in `beside` while presenting, where the picture keeps its height;
/// else at the bottom of the window.
void draw_question(const View& view, Commands& commands, const Rect& beside);
/// Whether the laser pointer is shown: its button or key is held. No tooltip then covers what it points at.
bool holds_pointer(const View& view);
void draw_pointer(const View& view);
/// Returns the title of a scene; of one without, what it shows.
std::string scene_name(const Scene& scene);
/// "Scene 2/7": where the deck is.
std::string scene_count(const View& view);
/// Draws black over everything, and takes the keyboard and the mouse from what is under it.
void draw_blank(const View& view);
/// Returns the height that draw_left_over() takes.
float left_over_height(const Theme& theme);
/// Offers to go on where the last window was; true and false are the person's answer.
std::optional<bool> draw_left_over(const View& view, ImVec2 at);

/// Opens the popover or the view that has the control of this link key, at its field. Returns false where there is none.
bool can_open_control(std::string_view control);
void open_control(std::string_view control, Commands& commands);
/// Returns true once for the control that open_control() named: its field takes the keyboard.
bool take_asked_control(std::string_view control);

// Popover contents, called between ImGui::BeginPopup and EndPopup.
void draw_problem_controls(const View& view, Commands& commands);
void draw_tile_controls(const View& view, Commands& commands);
/// Returns how what is on screen differs from the compiled kernel, a sentence each: no kernel takes its head dimension or type, it
/// has another tile, or it spills.
const std::vector<std::string>& kernel_warnings(const View& view);
void draw_gpu_controls(const View& view, Commands& commands);
/// Returns the limits and the unit of a field for a number of the GPU.
NumberLimits spec_limits(const SpecKey& key);
/// Returns a GPU's number as a person reads it: "1 MiB", "132", "0.5".
std::string spec_value_text(const SpecKey& key, double value);
/// Measures this machine's GPU, with progress and what differs from the shipped spec; chooses it.
void draw_own_gpu(const View& view, Commands& commands);
void draw_input_controls(const View& view, Commands& commands);
void draw_export_controls(const View& view, Commands& commands);

/// Adds a whole number that can be dragged, halved, doubled or typed. Returns true while it changes.
bool number_field(const Theme& theme, const char* label, const char* id, const char* tooltip, std::int64_t& value, std::int64_t low,
                  std::int64_t high);
/// Shows the message of `control` in red, if any.
void control_message(const View& view, std::string_view control);
/// Returns true if the message belongs to a control.
bool message_is_for(const View& view, std::span<const std::string_view> controls);

}  // namespace tilescope
