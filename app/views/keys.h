// The keyboard: which key asks for which command. A clicker's Page Up and Page Down are keys too.
#pragma once

#include <span>
#include <string_view>

#include "app/views/view.h"

namespace tilescope {

/// Pushes what the keys pressed in this frame ask for; nothing while text is being typed.
/// `under_mouse` is the panel that the key for one panel alone means.
/// Returns the factor by which Ctrl with +, − or 0 changes the text size: 1 for none, 0 for "as the display has it".
float handle_keys(const View& view, std::string_view under_mouse, Commands& commands);

/// A row of the sheet of keys.
struct KeyHelp {
  const char* keys;
  const char* what;  // English; through tr() when shown
};
std::span<const KeyHelp> key_help();

}  // namespace tilescope
