// Says beside a number field that what was typed into it is not possible: what was asked, the limits, and what is used now.
#pragma once

#include <string>
#include <string_view>

#include "app/ui/widgets.h"

namespace tilescope {

/// What a number may be.
struct NumberLimits {
  double low = 0, high = 0;
  bool whole = false;
};

/// One sentence where `typed` is no number or beyond its limits, so that `used` was taken; empty where it is one within them.
std::string typed_refusal(std::string_view typed, const NumberLimits& limits, double used);

/// Where the item just made is, with the button that comes after it.
Rect item_and_button(float gap, const char* label);

/// Follows what is typed into the item just made, whose number is `value` by now. A refusal frames the item and stands in a box
/// beside `beside`, over what is there, until a number is typed that is possible, the value changes otherwise, or the item is gone.
void note_limits(const Theme& theme, const NumberLimits& limits, double value, const Rect& beside);

}  // namespace tilescope
