// Adapts the model's sentences to the window.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// Replaces the blank between a number and its unit by U+00A0, so that no line breaks there.
std::string with_units_kept(std::string_view sentence);

/// Replaces command-line flags by the window's controls: "use a smaller --heads or --seq" becomes "use a smaller H or N".
std::string window_words(std::string_view sentence);

}  // namespace tilescope
