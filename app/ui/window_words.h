// Sentences of the simulation as the window shows them.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// Blanks between a number and its unit as U+00A0, at which no line is broken.
std::string with_units_kept(std::string_view sentence);

/// "use a smaller --heads or --seq" as "use a smaller H or N": with the names of the window's controls in place of the command
/// line's flags, and units kept with their numbers.
std::string window_words(std::string_view sentence);

}  // namespace tilescope
