// window_words(): a sentence of the simulation, which speaks of flags of the command line, with the names of the window's controls.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// "use a smaller --heads or --seq" as "use a smaller H or N".
std::string window_words(std::string_view sentence);

}  // namespace tilescope
