// Explains invalid input next to its number field: the input, the limits and the value in use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/ui/widgets.h"

namespace tilescope {

/// What the value of a number field counts; a field with a unit takes "12 GB/s", "16G" and "1980 MHz".
enum class FieldUnit { none, bytes, bytes_per_second, hertz };

/// The limits of a number field.
struct NumberLimits {
  double low = 0, high = 0;
  bool whole = false;
  FieldUnit unit = FieldUnit::none;
};

/// Returns what was typed, with k, M, G, T, Ki, Mi, Gi, Ti and the field's unit. Of bytes, a bare M is the MiB shown beside the
/// field.
std::optional<double> typed_number(std::string_view typed, const NumberLimits& limits);

/// Takes over the item `label` while it is typed into, so that units may be typed. Returns false where it is not: the caller adds
/// the item. What is invalid leaves the value from before typing.
bool type_quantity(const char* label, double& value, const NumberLimits& limits);

/// Explains in one sentence why `used` replaced `typed`; empty if `typed` is valid.
std::string typed_refusal(std::string_view typed, const NumberLimits& limits, double used);

/// Returns the rectangle of the last item plus the button after it.
Rect item_and_button(float gap, const char* label);

/// Watches the input of the last item, whose number is now `value`. A refusal frames the item and shows a box next to `beside`. It
/// stays until valid input arrives, the value changes otherwise, or the item disappears.
void note_limits(const Theme& theme, const NumberLimits& limits, double value, const Rect& beside);

}  // namespace tilescope
