// Explains invalid input next to its number field: the input, the limits and the value in use.
#pragma once

#include <string>
#include <string_view>

#include "app/ui/widgets.h"

namespace tilescope {

/// The limits of a number field.
struct NumberLimits {
  double low = 0, high = 0;
  bool whole = false;
};

/// Explains in one sentence why `used` replaced `typed`; empty if `typed` is valid.
std::string typed_refusal(std::string_view typed, const NumberLimits& limits, double used);

/// Returns the rectangle of the last item plus the button after it.
Rect item_and_button(float gap, const char* label);

/// Watches the input of the last item, whose number is now `value`. A refusal frames the item and shows a box next to `beside`. It
/// stays until valid input arrives, the value changes otherwise, or the item disappears.
void note_limits(const Theme& theme, const NumberLimits& limits, double value, const Rect& beside);

}  // namespace tilescope
