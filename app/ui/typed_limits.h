// Explains invalid input next to its number field: the input, the limits and the value in use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/ui/widgets.h"

namespace tilescope {

/// What the value of a number field counts; a field with a unit takes "12 GB/s", "16G" and "1980 MHz".
enum class FieldUnit { none, bytes, bytes_per_second, hertz };

/// A number is unfinished for so many seconds after a key: nothing is simulated and nothing refused.
constexpr double typing_pause = 0.5;

/// Asks for frames until what was typed `since` is finished.
void wait_for_pause(double since);
bool waits_for_pause();

/// Returns the text of the number field that is typed into.
std::optional<std::string> typed_text();

/// The limits of a number field.
struct NumberLimits {
  double low = 0, high = 0;
  bool whole = false;
  FieldUnit unit = FieldUnit::none;
};

/// Returns what was typed, with k, M, G, T, Ki, Mi, Gi, Ti and the field's unit. Of bytes, a bare M is the MiB shown beside the
/// field.
std::optional<double> typed_number(std::string_view typed, const NumberLimits& limits);

/// Formats a value with its unit so that typed_number() reads the same value: "16 GB/s", "50 MiB", "1980 MHz".
std::string quantity_text(double value, FieldUnit unit);

/// Adds a field to drag or type a number. One with a unit shows the value with it, also when it is opened for typing.
void drag_quantity(const char* label, double& value, const NumberLimits& limits);

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

/// Explains, at the next note_limits() of the field `label`, that a button asked for `asked` and got `used`.
void note_clamped(const char* label, const NumberLimits& limits, double asked, double used);

}  // namespace tilescope
