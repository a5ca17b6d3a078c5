// Maps keys to commands, including Page Up and Page Down of a clicker.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/views/view.h"

namespace tilescope {

/// Pushes the commands of the keys pressed in this frame. While typing text only F5, F11, the text size and the keys of a clicker;
/// in the empty field of an answer letters too.
/// `under_mouse` is the panel that Z maximises.
/// Returns the text-size factor of Ctrl with +, − or 0: 1 for no change, 0 for the default.
float handle_keys(const View& view, std::string_view under_mouse, Commands& commands);

/// Returns true while digits choose no view: in a lesson, whose questions they answer, and while the class is asked. An answered
/// page takes none, so that a digit too many leaves its picture alone.
bool digits_answer(const View& view);
/// Keeps the digits typed while no field has the keyboard, and gives them to the field `id` once it has it.
/// Called right before (`item` false) and after (`item` true) the field is added.
void give_digits(const char* id, std::string& waiting, bool item);

/// F5 begins a deck at its first scene, as slides begin; Shift and F5 present what is on screen.
void begin_presenting(const View& view, Commands& commands);

/// Puts the link to what is shown on the clipboard.
void copy_link(const View& view, Commands& commands);
/// Goes to the next operation that stalled (1) or the one before (-1).
void go_to_stall(const View& view, int direction, Commands& commands);
/// Begins (1) or ends (-1) the chosen stretch of the timeline at the playhead.
void choose_range_here(const View& view, int end, Commands& commands);

/// Opens the link on the clipboard.
void paste_link(Commands& commands);

/// A row of the key list; the heading of a group has no keys.
struct KeyHelp {
  const char* keys;
  const char* what;  // English; through tr() when shown
};
std::span<const KeyHelp> key_help();

}  // namespace tilescope
